"""A process without a network: connections to other machines, and questions for their addresses, are refused.

Loopback and Unix sockets stay, for processes that talk to each other on this machine.
"""

import socket
from ipaddress import ip_address

LOCAL_NAMES = (None, "", "localhost")


def is_local(host):
    """Whether an address or a name is this machine's own."""
    host = host.decode() if isinstance(host, bytes) else host
    if host in LOCAL_NAMES:
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def cut_off(patch, refuse):
    """Let every way out call `refuse` with where it led; `patch` replaces an attribute, as `setattr` does."""
    for name in ("connect", "connect_ex"):
        patch(socket.socket, name, _guarded(getattr(socket.socket, name), refuse))
    resolve = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        if not is_local(host):
            refuse(host)
        return resolve(host, *arguments, **options)

    patch(socket, "getaddrinfo", getaddrinfo)


def _guarded(connect, refuse):
    def connect_nearby(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
            refuse(address[0])
        return connect(self, address)

    return connect_nearby

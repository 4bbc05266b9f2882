"""The benchmark of scale: its fit, its page, and a child process at a small size."""

import pytest
from benchmarks import scale


def line(size, seconds, stage="fit", measurement="classifier"):
    numbers = {"cpu_seconds": seconds, "wall_seconds": seconds, "extra_gb": size / 1e6, "resident_gb": 1, "value": ""}
    return {"measurement": measurement, "stage": stage, "size": size, **numbers}


def test_a_power_law_is_found_again():
    sizes = [10, 100, 1000, 10_000]
    exponent, factor = scale.growth(sizes, [3e-3 * size**1.25 for size in sizes])
    assert exponent == pytest.approx(1.25)
    assert factor == pytest.approx(3e-3)


def test_growth_is_told_from_four_sizes_on(tmp_path):
    path = tmp_path / "scale.csv"
    few = [line(size, size / 100, stage="predict") for size in (1000, 2000, 4000)]
    scale.write_lines(path, [*few, *(line(size, size**2 / 1e6) for size in (8000, 1000, 2000, 4000))])
    page = scale.page(scale.read_lines(path))
    assert "| classifier | fit | 1,000 … 8,000 (4) | 1 … 64 | 0.001 … 0.008 | 2.00 | 2.00 | 1.00 | 6.4e+03 |" in page
    assert "| classifier | predict | 4,000 |" in page
    assert "| classifier | predict | 1,000 …" not in page


def test_a_measurement_runs_in_a_process_of_its_own():
    found = scale.run_child("tables", 300)
    assert [one["stage"] for one in found] == ["ledger written", "ledger read", "all", "ledger.csv, GB"]
    assert all(float(one["cpu_seconds"]) > 0 for one in found[:2])
    assert float(found[-1]["value"]) > 1e-5

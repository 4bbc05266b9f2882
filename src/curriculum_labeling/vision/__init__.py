"""Everything that needs torch: networks, augmentation, mixup and preprocessing of images."""

"""Facts about datasets, samples and loaders."""

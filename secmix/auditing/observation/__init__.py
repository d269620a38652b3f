"""One cell's runs seen through the adversary: probes, the linear part of its view, and what passes elsewhere."""

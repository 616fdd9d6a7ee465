"""One small file for each way in which an error can stand in a text; none knows another."""

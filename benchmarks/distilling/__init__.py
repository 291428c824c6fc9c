"""What is distilled, measured: against labels, and what it costs."""

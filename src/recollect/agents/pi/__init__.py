"""pi and its relatives Oh My Pi and Prime Agent."""

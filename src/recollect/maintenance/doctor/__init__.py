"""`recollect doctor`: named checks that are run now, each able to fail. None of them changes anything."""

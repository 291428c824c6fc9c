"""`verify --deep`: everything derived is held against what it was derived from."""

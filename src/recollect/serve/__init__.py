"""What other programs reach over the network: on this machine only, and only through `Memory`."""

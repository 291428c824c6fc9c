"""OpenHands: conversations as folders of events, and the sessions of older versions."""

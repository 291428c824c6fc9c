"""OpenClaw, once Clawdbot, and QClaw: sessions in the format of pi."""

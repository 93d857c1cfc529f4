"""Nights with the real agents: scenarios, a scripted model behind fake services, an oracle."""

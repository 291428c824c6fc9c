"""What languages say when they decide: packs as data, and the clause analyser that reads messages by them."""

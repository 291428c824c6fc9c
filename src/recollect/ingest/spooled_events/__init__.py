"""Takes in what hooks left in the spool: `taking` is the way, `files` what is written, `aside` what cannot be taken."""

"""Reading ciphertexts without the key: trials of the cipher, and what they open."""

"""What ciphertexts tell without the key: trials of the cipher, and what is opened."""

// The text by which limits store a key or the name of a model, which clients can choose.

import { hash } from 'node:crypto'

/** Maximum length of a key that is stored as text; of a longer key the hash is stored. */
export const MAX_STORED_KEY_LENGTH = 128

/** Returns the text by which a bucket is stored. */
export function storedKeyOf(key: string): string {
  return key.length > MAX_STORED_KEY_LENGTH ? hash('sha256', key, 'base64') : key
}

/** Copies the key: it is often a slice of a request head, which it would keep in memory. UTF-16 keeps every character. */
export function copyKey(key: string): string {
  return Buffer.from(key, 'utf16le').toString('utf16le')
}

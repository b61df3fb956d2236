// Compares texts so that time tells nothing of where they differ, nor of how long they are.

import { createHash, timingSafeEqual } from 'node:crypto'

export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

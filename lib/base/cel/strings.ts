// String functions the library lacks. Positions count code points, as CEL has it, where that costs nothing.

import type { Environment } from '@marcbachmann/cel-js'
import { MAX_TEXT } from './bounds.ts'
import { CelFault } from './errors.ts'

const SYNC = { async: false }

export function registerStrings(environment: Environment): void {
  environment
    .registerFunction('string.charAt(int): string', charAt, SYNC)
    .registerFunction('string.replace(string, string): string', replaceAll, SYNC)
    .registerFunction('string.replace(string, string, int): string', replace, SYNC)
    .registerFunction('string.stripPrefix(string): string', stripPrefix, SYNC)
    .registerFunction('string.stripSuffix(string): string', stripSuffix, SYNC)
    // `guard.ts` puts the compiled pattern in their place.
    .registerFunction('matches(string, string): bool', () => false, SYNC)
    .registerFunction('string.regexReplace(string, string): string', () => '', SYNC)
}

function charAt(text: string, index: bigint): string {
  if (index < 0n || index > text.length) throw new CelFault('index_out_of_bounds')
  return text.charAt(Number(index))
}

function replaceAll(text: string, part: string, by: string): string {
  return replace(text, part, by, -1n)
}

/** The first `count` occurrences, or all when it is negative. A short text can grow: its size is bounded. */
function replace(text: string, part: string, by: string, count: bigint): string {
  const pieces = text.split(part)
  const found = part === '' ? pieces.length + 1 : pieces.length - 1
  const changes = count < 0n || count > found ? found : Number(count)
  if (text.length + changes * (by.length - part.length) > MAX_TEXT) throw new CelFault('too_large')
  if (changes === found) return text.replaceAll(part, () => by)
  let out = ''
  let from = 0
  for (let i = 0; i < changes; i++) {
    const at = part === '' ? i : text.indexOf(part, from)
    out += text.slice(from, at) + by
    from = at + part.length
  }
  return out + text.slice(from)
}

function stripPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text
}

function stripSuffix(text: string, suffix: string): string {
  return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text
}

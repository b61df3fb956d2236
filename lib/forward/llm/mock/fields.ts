// Reads a request's JSON without trusting it: what is not there, or is something else, reads as nothing.

import type { Fault, Json } from './types.ts'

/** Texts lie in messages, their content, its blocks and what those quote; deeper ones are nobody's prompt. */
const MOST_DEPTH = 8

/** Of a name, which stands in every piece of an answer. */
const MOST_NAME = 1_024

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function nameOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MOST_NAME ? value : ''
}

/** The texts in a message's content, in whichever form a dialect allows. */
export function textsIn(value: unknown, depth = MOST_DEPTH): string[] {
  if (typeof value === 'string') return [value]
  if (depth === 0 || typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, depth - 1))
  const { text, content, parts } = value as Json
  return [text, content, parts].flatMap((item) => textsIn(item, depth - 1))
}

/** The last of these that a user said; one that does not say whose it is is a user's. */
export function lastSaid(messages: readonly unknown[]): string {
  const last = messages.findLast((message) => (objectOf(message)['role'] ?? 'user') === 'user')
  return textsIn(last).join(' ')
}

/** How many tokens an answer may have; null when this is no number of tokens. */
export function mostOf(value: unknown): number | null {
  if (value === undefined || value === null) return Infinity
  return Number.isInteger(value) && (value as number) > 0 ? (value as number) : null
}

export function missing(param: string): Fault {
  return { kind: 'fault', why: 'missing', param }
}

export function invalid(param: string): Fault {
  return { kind: 'fault', why: 'invalid', param }
}

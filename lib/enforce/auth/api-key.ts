// The apiKey policy: only the hashes of the keys are stored, and they are compared in constant time.

import { createHash, timingSafeEqual } from 'node:crypto'
import { jsonToCel } from '../../expressions/json-values.ts'
import type { ApiKeyConfig, CredentialLocation } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import { buildTextReply } from '../../core/replies.ts'
import type { Policy } from '../../core/types.ts'
import { findCredential, removeCredential } from './credentials.ts'
import type { Claims } from '../../core/facts.ts'

interface KnownApiKey {
  readonly hash: Buffer
  /** Expressions read it as `apiKey.<field>`. */
  readonly metadata: Claims
  readonly allowedModels: readonly string[] | undefined
}

/** A longer key is treated as unknown. */
const MAX_KEY_LENGTH = 4_096

export function createApiKeyPolicy({ mode, locations, keys }: ApiKeyConfig): Policy {
  const known = keys.map(({ hash, metadata, allowedModels }) => ({
    hash: Buffer.from(hash, 'hex'),
    allowedModels: allowedModels ?? undefined,
    // The configuration shape ensures an object.
    metadata: jsonToCel(metadata) as Claims,
  }))
  return {
    kind: 'apiKey',
    request(exchange) {
      const found = findPresentedKey(exchange, locations, known)
      if (found.kind === 'none' && mode === 'strict')
        return rejectApiKey(exchange, 'missing', 'no API Key found')
      if (found.kind !== 'known') {
        if (found.kind === 'unknown' && mode !== 'permissive')
          return rejectApiKey(exchange, 'invalid', 'invalid credentials')
        exchange.trace?.skipPolicy(`no known key, and mode is ${mode}`)
        return undefined
      }
      const { hash, metadata, allowedModels } = found.key
      const apiKeyHash = hash.toString('base64')
      exchange.addFacts({ apiKey: metadata, apiKeyHash, allowedModels })
      for (const { location, value } of found.places) removeCredential(exchange, location, value)
      exchange.trace?.notePolicy('key verified')
      return undefined
    },
  }
}

type PresentedKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'known'; readonly key: KnownApiKey; readonly places: readonly KeyPlace[] }

interface KeyPlace {
  readonly location: CredentialLocation
  readonly value: string
}

/**
 * Finds the known key that a request presents. A client may send a key for the backend in another location, so an unknown
 * value next to a known key is left where it is. Two different known keys, or one location twice, are ambiguous.
 */
function findPresentedKey(
  exchange: Exchange,
  locations: readonly CredentialLocation[],
  known: readonly KnownApiKey[],
): PresentedKey {
  let kind: 'none' | 'unknown' = 'none'
  let presented: KnownApiKey | null = null
  const places: KeyPlace[] = []
  for (const location of locations) {
    const found = findCredential(exchange, location)
    if (found.kind === 'none') continue
    if (found.kind === 'several') return { kind: 'unknown' }
    kind = 'unknown'
    const key = findApiKey(known, found.value)
    if (key === null) continue
    if (presented !== null && presented !== key) return { kind: 'unknown' }
    presented = key
    places.push({ location, value: found.value })
  }
  return presented === null ? { kind } : { kind: 'known', key: presented, places }
}

/** Compares all keys, so that the time does not depend on which key matches. */
function findApiKey(known: readonly KnownApiKey[], text: string): KnownApiKey | null {
  if (text.length > MAX_KEY_LENGTH) return null
  const hash = createHash('sha256').update(text).digest()
  let match: KnownApiKey | null = null
  for (const key of known) if (timingSafeEqual(key.hash, hash)) match = key
  return match
}

function rejectApiKey(exchange: Exchange, fault: 'missing' | 'invalid', reason: string) {
  exchange.enforcement.refusalReason = `api_key_${fault}`
  const reply = buildTextReply(401, `api key authentication failure: ${reason}`)
  reply.head.add('www-authenticate', 'Bearer')
  return reply
}

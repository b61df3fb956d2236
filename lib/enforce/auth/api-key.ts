// The apiKey policy: only the hashes of the keys are stored, and they are compared in constant time.

import { createHash, timingSafeEqual } from 'node:crypto'
import { jsonToCel } from '../../expressions/json-values.ts'
import type { ApiKeyConfig } from '../../config/policy-types.ts'
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

export function createApiKeyPolicy({ mode, location, keys }: ApiKeyConfig): Policy {
  const known = keys.map(({ hash, metadata, allowedModels }) => ({
    hash: Buffer.from(hash, 'hex'),
    allowedModels: allowedModels ?? undefined,
    // The configuration shape ensures an object.
    metadata: jsonToCel(metadata) as Claims,
  }))
  return {
    kind: 'apiKey',
    request(exchange) {
      const found = findCredential(exchange, location)
      if (found.kind === 'none' && mode === 'strict')
        return rejectApiKey(exchange, 'missing', 'no API Key found')
      const key = found.kind === 'one' ? findApiKey(known, found.value) : null
      if (key === null || found.kind !== 'one') {
        if (found.kind !== 'none' && mode !== 'permissive')
          return rejectApiKey(exchange, 'invalid', 'invalid credentials')
        exchange.trace?.skipPolicy(`no known key, and mode is ${mode}`)
        return undefined
      }
      const apiKeyHash = key.hash.toString('base64')
      const { metadata, allowedModels } = key
      exchange.addFacts({ apiKey: metadata, apiKeyHash, allowedModels })
      removeCredential(exchange, location, found.value)
      exchange.trace?.notePolicy('key verified')
      return undefined
    },
  }
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

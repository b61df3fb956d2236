// apiKey: keys that are known by heart. Only their hashes are, and those are compared in constant time.

import { createHash, timingSafeEqual } from 'node:crypto'
import { fromJson } from '../base/cel/json.ts'
import type { ApiKeyConfig } from '../base/config/auth-types.ts'
import type { Exchange } from '../base/exchange.ts'
import { textReply } from '../base/reply.ts'
import type { Policy } from '../base/types.ts'
import { findCredential, removeCredential } from './credential.ts'
import type { Claims } from '../base/cel/facts.ts'

interface Known {
  readonly hash: Buffer
  /** Readable as `apiKey.<field>`. */
  readonly metadata: Claims
  readonly allowedModels: readonly string[] | undefined
}

/** Longer ones are nobody's. */
const MAX_KEY_LENGTH = 4_096

export function apiKey({ mode, location, keys }: ApiKeyConfig): Policy {
  const known = keys.map(({ hash, metadata, allowedModels }) => ({
    hash: Buffer.from(hash, 'hex'),
    allowedModels: allowedModels ?? undefined,
    // An object by the shape of the configuration.
    metadata: fromJson(metadata) as Claims,
  }))
  return {
    kind: 'apiKey',
    request(exchange) {
      const found = findCredential(exchange, location)
      if (found.kind === 'none' && mode === 'strict')
        return refused(exchange, 'missing', 'no API Key found')
      const key = found.kind === 'one' ? holderOf(known, found.value) : null
      if (key === null || found.kind !== 'one') {
        if (found.kind !== 'none' && mode !== 'permissive')
          return refused(exchange, 'invalid', 'invalid credentials')
        exchange.trace?.skip(`no known key, and mode is ${mode}`)
        return undefined
      }
      const apiKeyHash = key.hash.toString('base64')
      const { metadata, allowedModels } = key
      exchange.learn({ apiKey: metadata, apiKeyHash, allowedModels })
      removeCredential(exchange, location, found.value)
      exchange.trace?.note('key verified')
      return undefined
    },
  }
}

/** Every key is compared, so that time tells nothing. */
function holderOf(known: readonly Known[], text: string): Known | null {
  if (text.length > MAX_KEY_LENGTH) return null
  const hash = createHash('sha256').update(text).digest()
  let holder: Known | null = null
  for (const one of known) if (timingSafeEqual(one.hash, hash)) holder = one
  return holder
}

function refused(exchange: Exchange, fault: 'missing' | 'invalid', reason: string) {
  exchange.refusal = `api_key_${fault}`
  const reply = textReply(401, `api key authentication failure: ${reason}`)
  reply.head.add('www-authenticate', 'Bearer')
  return reply
}

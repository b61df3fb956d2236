// The secrets that the gateway adds to a request: for error responses and for the trace.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Trace } from '../../lib/core/trace-events.ts'
import { createBackendAuthPolicy } from '../../lib/enforce/auth/credentials.ts'
import { createRequestHeaderPolicy } from '../../lib/enforce/header-changes.ts'
import { Secret } from '../../lib/text/secret.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { replyOrPass } from '../support/policy-reply.ts'

const exchanges = suite('secrets of an exchange')

function newExchange(): ReturnType<typeof exchangeOf> {
  return exchangeOf(requestOf('GET / HTTP/1.1', 'host: a'))
}

exchanges('are kept once, and the first list as it is', () => {
  const exchange = newExchange()
  const none = exchange.addedSecrets
  exchange.addSecrets([])
  assert.is(exchange.addedSecrets, none)
  const [one, two] = [new Secret('one'), new Secret('two')]
  const first = [one]
  exchange.addSecrets(first)
  exchange.addSecrets(first)
  exchange.addSecrets([])
  assert.is(exchange.addedSecrets, first)
  exchange.addSecrets([one, two])
  assert.equal(exchange.addedSecrets, [one, two])
  assert.is(exchange.addedSecrets[1], two)
})

exchanges('of policies are told to the trace without a prefix', () => {
  const exchange = newExchange()
  const told: string[] = []
  exchange.trace = { addSecret: (text: string) => void told.push(text) } as unknown as Trace
  const key = new Secret('backend-key')
  const header = { kind: 'header', name: 'x-own', prefix: 'Own ', key } as const
  replyOrPass(createBackendAuthPolicy(header), exchange)
  const set = [
    ['x-user-token', 'Bearer set-token'],
    ['x-other', 'shown'],
  ] as const
  replyOrPass(createRequestHeaderPolicy({ set, add: [], remove: [] }), exchange)
  assert.equal(told, ['backend-key', 'set-token'])
})

exchanges.run()

// Errors of calls and requests in a trace, without the secrets that the gateway added.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ConfigFormatter } from '../../lib/config/show.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { TraceMessage } from '../../lib/core/trace-events.ts'
import { MAX_REASON_LENGTH, sensitiveHeaderNames } from '../../lib/text/redaction.ts'
import { TraceRecorder } from '../../lib/trace/trace-recorder.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const errors = suite('errors in a trace')

/** The errors of the call and of the request if both fail with this message. */
function tracedErrors(message: string, secret: string): unknown[] {
  const events: TraceMessage[] = []
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'host: a'))
  const reader = {
    onEvent: (event: { message: TraceMessage }) => void events.push(event.message),
    onFinished() {},
  }
  const recorder = new TraceRecorder(exchange, reader, {
    secretNames: { headers: sensitiveHeaderNames([]), parameters: new Set() },
    formatter: new ConfigFormatter([]),
    redactBodies: [],
    maxBodyBytes: 0,
  })
  recorder.addSecret(secret)
  recorder.startCall('backend', {}).close(message)
  exchange.error = new GatewayError('BACKEND_CLOSED', message)
  recorder.finish()
  return events.flatMap((event) => ('error' in event ? [event.error] : []))
}

errors('hide a secret that the limit of the length cuts', () => {
  const start = 'x'.repeat(MAX_REASON_LENGTH - 20)
  const shown = tracedErrors(
    `${start} not-0123456789-abcdefghi-secret`,
    '0123456789-abcdefghi-secret',
  )
  assert.equal(shown, [`${start} not-<redacted>`, `${start} not-<redacted>`])
})

errors('of a request are as short as those of a call', () => {
  const [call, request] = tracedErrors('word '.repeat(100), 'a-secret')
  assert.is(String(call).length, MAX_REASON_LENGTH)
  assert.is(request, call)
})

errors.run()

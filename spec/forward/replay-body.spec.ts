// A request body that is kept for a retry: its bytes are counted, and released as soon as no retry can follow.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../lib/core/byte-budgets.ts'
import { MAX_REPLAY_BYTES } from '../../lib/core/bounds.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { EMPTY_BODY, buildResponseHead } from '../../lib/core/replies.ts'
import type { Body, Sink } from '../../lib/core/types.ts'
import { HttpCall } from '../../lib/forward/http/backend-call.ts'
import { ReplayBody } from '../../lib/forward/replay-body.ts'
import { requestOf } from '../support/exchange-of.ts'

const replay = suite('forward/replay-body')

class Source implements Body {
  readonly framing = 'open'
  readonly length = -1
  sink: Sink | null = null
  start(sink: Sink): void {
    this.sink = sink
  }
  pause(): void {}
  resume(): void {}
  cancel(): void {}
}

class CountingSink implements Sink {
  byteCount = 0
  write(_bytes: Buffer, from: number, to: number): boolean {
    this.byteCount += to - from
    return true
  }
  end(): void {}
  cut(): void {}
}

function callOf(body: Body): HttpCall {
  const client = { sendInterim() {} }
  const attempt = { body, answer() {}, fail() {} }
  return new HttpCall({ request: requestOf('POST / HTTP/1.1', 'host: a'), client }, attempt, null)
}

const ENDS: Record<string, (call: HttpCall) => void> = {
  answered: (call) =>
    call.answered({ head: buildResponseHead(200, []), body: EMPTY_BODY, tunnel: null }),
  cancelled: (call) => call.cancel(),
  failed: (call) => call.failed(new GatewayError('BACKEND_CLOSED', 'gone')),
}

for (const [name, end] of Object.entries(ENDS))
  replay(`counts its bytes until its call is ${name}, and only forwards after that`, () => {
    const before = bytesInFlight.retained
    const source = new Source()
    const call = callOf(source)
    call.keepForResend()
    const sink = new CountingSink()
    call.body.start(sink, 'content')
    source.sink!.write(Buffer.alloc(1_000), 0, 1_000)
    assert.is(bytesInFlight.retained - before, 1_000)
    end(call)
    assert.is(bytesInFlight.retained, before)
    source.sink!.write(Buffer.alloc(500), 0, 500)
    assert.is(bytesInFlight.retained, before)
    assert.is(sink.byteCount, 1_500)
  })

replay('keeps nothing above the bound, or after the client closed the connection', () => {
  const before = bytesInFlight.retained
  for (const end of [
    (sink: Sink) => void sink.write(Buffer.alloc(MAX_REPLAY_BYTES), 0, MAX_REPLAY_BYTES),
    (sink: Sink) => sink.cut('client_closed'),
  ]) {
    const source = new Source()
    const body = new ReplayBody(source)
    body.start(new CountingSink(), 'content')
    source.sink!.write(Buffer.alloc(10), 0, 10)
    assert.is(bytesInFlight.retained - before, 10)
    end(source.sink!)
    assert.is(bytesInFlight.retained, before)
    assert.not.ok(body.isReplayable)
  }
})

replay.run()

// The JSON-RPC side of the demo server: line framing, protocol errors, cancelled calls.

import { PassThrough } from 'node:stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  INVALID_PARAMS_CODE,
  DemoPeer,
  DemoRpcError,
} from '../../../lib/forward/mcp/demo-server.ts'
import type { DemoCall, DemoJson } from '../../../lib/forward/mcp/demo-server.ts'
import { deadline } from '../../support/deadline.ts'
import { splits } from '../../support/splits.ts'

const WAIT_MS = 30_000

class Talk {
  readonly input = new PassThrough()
  readonly calls: DemoCall[] = []
  readonly #output = new PassThrough()

  constructor() {
    const peer = new DemoPeer(
      {
        echo: (params) => params,
        refuse: () => Promise.reject(new DemoRpcError(INVALID_PARAMS_CODE, 'not so')),
        fail: () => Promise.reject(new Error('broken')),
        hold: (_params, call) => {
          this.calls.push(call)
          return new Promise((resolve) => call.signal.addEventListener('abort', resolve))
        },
        step: (_params, call) => {
          call.progress(1, 2)
          return {}
        },
      },
      this.#output,
    )
    peer.listen(this.input)
  }

  say(message: DemoJson): void {
    this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Reads the next lines of output. */
  async hear(count: number): Promise<DemoJson[]> {
    const lines: string[] = []
    const read = async (): Promise<void> => {
      let text = ''
      for (;;) {
        text += ((this.#output.read() as Buffer | null) ?? '').toString()
        lines.splice(0, Infinity, ...text.split('\n').slice(0, -1))
        if (lines.length >= count) return
        await new Promise((resolve) => this.#output.once('readable', resolve))
      }
    }
    await deadline(read(), WAIT_MS, `${count} messages`)
    return lines.map((line) => JSON.parse(line) as DemoJson)
  }
}

const errorsOf = (messages: DemoJson[]): unknown[] =>
  messages.map(({ id, error }) => [id, (error as DemoJson)['code']])

const peer = suite('demo peer')

peer('reads a message at every split', async () => {
  const line = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"é漢😀"}}\r\n\n')
  for (const chunks of splits(line)) {
    const talk = new Talk()
    for (const chunk of chunks) talk.input.write(chunk)
    assert.equal(await talk.hear(1), [{ jsonrpc: '2.0', id: 1, result: { a: 'é漢😀' } }])
  }
})

peer('reads several messages from one chunk', async () => {
  const talk = new Talk()
  const line = (id: string): string => `{"jsonrpc":"2.0","id":"${id}","method":"echo"}\n`
  talk.input.write(line('a') + line('b') + line('c'))
  assert.equal(
    (await talk.hear(3)).map(({ id }) => id),
    ['a', 'b', 'c'],
  )
})

peer('refuses messages that are not requests', async () => {
  const talk = new Talk()
  talk.input.write('{"jsonrpc":\n[1]\n{"id":7}\n')
  const errors = errorsOf(await talk.hear(3))
  assert.equal(errors, [
    [null, -32700],
    [null, -32600],
    [7, -32600],
  ])
})

peer('answers unknown methods, errors and exceptions with their codes', async () => {
  const talk = new Talk()
  for (const method of ['constructor', 'refuse', 'fail']) {
    talk.say({ id: method, method })
    const code = { constructor: -32601, refuse: -32602, fail: -32603 }[method]
    assert.equal(errorsOf(await talk.hear(1)), [[method, code]])
  }
})

peer('sends progress only to clients that sent a token', async () => {
  const talk = new Talk()
  talk.say({ id: 1, method: 'step' })
  talk.say({ id: 2, method: 'step', params: { _meta: { progressToken: 0 } } })
  const [progress, ...answers] = await talk.hear(3)
  assert.is(progress?.['method'], 'notifications/progress')
  assert.equal(progress?.['params'], { progressToken: 0, progress: 1, total: 2 })
  assert.is(answers.length, 2)
})

peer('gives a cancelled call no answer', async () => {
  const talk = new Talk()
  talk.say({ id: 1, method: 'hold' })
  talk.say({ method: 'notifications/cancelled', params: { requestId: 1 } })
  talk.say({ id: 2, method: 'echo' })
  assert.equal(await talk.hear(1), [{ jsonrpc: '2.0', id: 2, result: {} }])
  assert.ok(talk.calls[0]?.signal.aborted)
})

peer('cancels all calls when its input ends, and bounds their number', async () => {
  const talk = new Talk()
  for (let id = 1; id <= 101; id++) talk.say({ id, method: 'hold' })
  assert.equal(errorsOf(await talk.hear(1)), [[101, -32000]])
  const ended = new Promise((resolve) => talk.input.once('end', resolve))
  talk.input.end()
  await deadline(ended, WAIT_MS, 'the end of the input')
  assert.is(talk.calls.length, 100)
  assert.ok(talk.calls.every(({ signal }) => signal.aborted))
})

peer.run()

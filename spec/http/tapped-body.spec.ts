import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BodyForm, BodyFraming, Outcome, Tap } from '../../lib/core/types.ts'
import { HeaderFields } from '../../lib/core/head.ts'
import { TappedBody } from '../../lib/http/tapped-body.ts'
import { faultsOf } from '../support/faults.ts'
import { RecordingSink, PushedBody } from '../support/llm/pushing.ts'
import { splits } from '../support/splits.ts'

/** A tapped body on its way to a sink, and the order of all calls. */
function tapped(framing: BodyFraming, form: BodyForm, tap: Partial<Tap> = {}) {
  const order: string[] = []
  const shown: string[] = []
  const source = new PushedBody(framing, framing === 'length' ? 5 : -1)
  const sink = new (class extends RecordingSink {
    override write(bytes: Buffer, from: number, to: number): boolean {
      order.push('write')
      return super.write(bytes, from, to)
    }
    override end(trailers: HeaderFields | null): void {
      order.push('end')
      super.end(trailers)
    }
    override cut(outcome: Outcome): void {
      order.push(`cut ${outcome}`)
      super.cut(outcome)
    }
  })()
  const body = new TappedBody(source, {
    chunk: (bytes, from, to) => {
      order.push('shown')
      shown.push(bytes.latin1Slice(from, to))
      tap.chunk?.(bytes, from, to)
    },
    end: (outcome) => {
      order.push(`tap ${outcome}`)
      tap.end?.(outcome)
    },
  })
  body.start(sink, form)
  return { order, shown, source, sink, body }
}

const WIRE = '5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-sum: 9\r\n\r\n'

const tap = suite('tapped body')

tap('forwards each chunk before it passes it to the tap, in the same tick', () => {
  const { order, source, sink, shown } = tapped('open', 'content')
  source.push(Buffer.from('one'))
  source.push(Buffer.from('two'))
  assert.equal(order, ['write', 'shown', 'write', 'shown'])
  assert.equal([sink.text, shown], ['onetwo', ['one', 'two']])
})

tap('has the framing and the length of its source, and requests the same form', () => {
  for (const framing of ['none', 'length', 'chunked', 'open'] as const)
    for (const form of ['wire', 'content'] as const) {
      const { body, source } = tapped(framing, form)
      assert.equal([body.framing, body.length, source.form], [framing, source.length, form])
    }
})

tap('forwards chunks unchanged and passes their content to the tap, at every split', () => {
  for (const chunks of splits(Buffer.from(WIRE))) {
    const { source, sink, shown } = tapped('chunked', 'wire')
    for (const chunk of chunks) source.push(chunk)
    assert.is(sink.text, WIRE)
    assert.is(shown.join(''), 'hello world')
  }
})

tap('passes bytes without framing to the tap unchanged, in either form', () => {
  for (const [framing, form] of [
    ['length', 'wire'],
    ['open', 'wire'],
    ['chunked', 'content'],
  ] as const) {
    const { source, shown } = tapped(framing, form)
    source.push(Buffer.from('5\r\nhello'))
    assert.equal(shown, ['5\r\nhello'])
  }
})

tap('ends the tap before the sink, and forwards the trailers', () => {
  const { order, source, sink } = tapped('open', 'content')
  const trailers = new HeaderFields('', [], 0)
  source.sink.end(trailers)
  assert.equal(order, ['tap complete', 'end'])
  assert.is(sink.trailers, trailers)
})

tap('reports a cut to the tap before the sink', () => {
  const { order, source } = tapped('open', 'content')
  source.push(Buffer.from('x'))
  source.sink.cut('backend_timeout')
  assert.equal(order, ['write', 'shown', 'tap backend_timeout', 'cut backend_timeout'])
})

tap('reports a cancelled body as a closed client, once', () => {
  const { order, source, body } = tapped('open', 'content')
  body.cancel()
  body.cancel()
  source.sink.cut('backend_reset')
  assert.equal(order, ['tap client_closed', 'cut backend_reset'])
  assert.equal(source.calls, ['cancel', 'cancel'])
})

tap('reports no second end after the first', () => {
  const { order, source, body } = tapped('open', 'content')
  source.sink.end(null)
  body.cancel()
  assert.equal(order, ['tap complete', 'end'])
})

tap('does not pass a chunk to the tap if the sink cancelled', () => {
  const { order, source, body, sink } = tapped('open', 'content')
  sink.write = () => {
    body.cancel()
    return true
  }
  source.push(Buffer.from('x'))
  source.push(Buffer.from('y'))
  assert.equal(order, ['tap client_closed'])
})

tap('drops a tap that throws, reports the error, and still ends the tap', async () => {
  const fail = (message: string) => (): never => {
    throw new Error(message)
  }
  for (const form of ['content', 'wire'] as const) {
    const faults = await faultsOf(2, () => {
      const bugs = { chunk: fail('a bug'), end: fail('another') }
      const { order, source, sink } = tapped('chunked', form, bugs)
      assert.ok(source.push(Buffer.from('1\r\na\r\n')))
      assert.ok(source.push(Buffer.from('1\r\nb\r\n')))
      source.sink.end(null)
      assert.equal(order, ['write', 'shown', 'write', 'tap complete', 'end'])
      assert.is(sink.text, '1\r\na\r\n1\r\nb\r\n')
    })
    assert.equal(faults, ['a bug', 'another'])
  }
})

tap('forwards malformed chunks unchanged', () => {
  const { order, source, sink } = tapped('chunked', 'wire')
  source.push(Buffer.from('zzz'))
  source.push(Buffer.from('1\r\na\r\n'))
  source.sink.end(null)
  assert.equal([sink.text, order.at(-1)], ['zzz1\r\na\r\n', 'end'])
})

tap('hands on that the sink has no room, pauses and resumes', () => {
  const { source, sink, body, shown } = tapped('open', 'content')
  sink.room = false
  assert.not(source.push(Buffer.from('x')))
  body.pause()
  body.resume()
  sink.room = true
  assert.ok(source.push(Buffer.from('y')))
  assert.equal(
    [source.calls, shown],
    [
      ['pause', 'resume'],
      ['x', 'y'],
    ],
  )
})

tap.run()

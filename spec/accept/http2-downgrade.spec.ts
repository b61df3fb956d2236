// Request smuggling by HTTP/2: fields that would change the framing or add a request in HTTP/1 must not reach the backend.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import {
  END_HEADERS,
  END_STREAM,
  fieldLines,
  frame,
  framesOf,
  PREFACE,
} from '../support/http2-frames.ts'
import { Recorder } from '../support/smuggling/recorder.ts'

const downgrade = suite('accept/http2 downgrade')
const stage = new Stage()
downgrade.after.each(() => stage.clear())

type Field = readonly [string, string]

const WAIT_MS = 30_000
const BOTH = END_HEADERS | END_STREAM
const LINES = '\r\n\r\nGET /hidden HTTP/1.1\r\nhost: a\r\n\r\n'

function head(fields: readonly Field[], changed: Record<string, string> = {}): Field[] {
  const pseudo = { ':method': 'POST', ':scheme': 'http', ':path': '/first', ':authority': 'a' }
  return [...Object.entries({ ...pseudo, ...changed }), ...fields]
}

const REFUSED: Record<string, Field[]> = {
  'a transfer coding': head([['transfer-encoding', 'chunked']]),
  'a connection field': head([['connection', 'close']]),
  'an upgrade': head([['upgrade', 'h2c']]),
  'a keep-alive': head([['keep-alive', 'timeout=5']]),
  'two lengths': head([
    ['content-length', '0'],
    ['content-length', '5'],
  ]),
  'an invalid length': head([['content-length', '+5']]),
  'a length below that of the body': head([['content-length', '0']]),
  'a length above that of the body': head([['content-length', '500']]),
  'a name in upper case': head([['Content-Length', '5']]),
  'lines in the path': head([], { ':path': `/first HTTP/1.1${LINES}` }),
  'a space in the path': head([], { ':path': '/first HTTP/1.1' }),
  'a path without a slash': head([], { ':path': 'first' }),
  'a whole URL as path': head([], { ':path': 'http://b/first' }),
  'no path': head([], { ':path': '' }),
  'lines in the method': head([], { ':method': `GET /hidden HTTP/1.1${LINES}` }),
  'a space in the method': head([], { ':method': 'GET /hidden' }),
  'no method': head([], { ':method': '' }),
  'an unknown method': head([], { ':method': 'BREW' }),
  'a method in lower case': head([], { ':method': 'get' }),
  'a method of another protocol': head([], { ':method': 'DESCRIBE' }),
  'lines in the authority': head([], { ':authority': `a${LINES}` }),
  'a path in the authority': head([], { ':authority': 'a/hidden' }),
  'a user in the authority': head([], { ':authority': 'b@a' }),
  'a tunnel': head([], { ':method': 'CONNECT' }),
  'an unknown pseudo field': head([[':hidden', 'x']]),
  'a pseudo field after others': [['x', 'y'], ...head([])],
  'the path twice': head([[':path', '/hidden']]),
}

/** nghttp2 omits such fields or refuses the request: in both cases the backend does not get them. */
const OMITTED: Record<string, Field[]> = {
  'lines in a value': head([['x', `y${LINES}`]]),
  'a bare LF in a value': head([['x', 'y\ntransfer-encoding: chunked']]),
  'a bare CR in a value': head([['x', 'y\rtransfer-encoding: chunked']]),
  'NUL in a value': head([['x', 'y\0z']]),
  'a colon in a name': head([['x: y', '1']]),
  'a space after a name': head([['content-length ', '5']]),
  'an empty name': head([['', 'y']]),
  'lines in a cookie': head([['cookie', `a=b${LINES}`]]),
  'lines in a name': head([[`x: y${LINES}z`, '1']]),
}

/** Sends the request and a valid one after it; resolves when both are answered, or after a GOAWAY. */
async function send(gateway: RunningGateway, fields: readonly Field[]): Promise<void> {
  const client = await stage.client(gateway)
  const last = head([], { ':method': 'GET', ':path': '/last' })
  client.send(
    Buffer.concat([
      PREFACE,
      frame('settings', 0, 0),
      frame('headers', END_HEADERS, 1, fieldLines(...fields)),
      frame('data', END_STREAM, 1, Buffer.from('body!')),
      frame('headers', BOTH, 3, fieldLines(...last)),
    ]),
  )
  const isOver = (): boolean => {
    const frames = framesOf(client.text)
    const ended = (id: number): boolean =>
      frames.some(({ type, stream }) => stream === id && (type === 'headers' || type === 'reset'))
    return frames.some(({ type }) => type === 'goaway') || (ended(1) && ended(3))
  }
  await client.settled(isOver, WAIT_MS, 'answers to both')
  client.destroy()
}

for (const [name, fields] of Object.entries(REFUSED))
  downgrade(`does not write ${name} as HTTP/1`, async () => {
    const backend = stage.add(await Recorder.start())
    const gateway = await stage.gateway(routeTo(backend))
    await send(gateway, fields)
    assert.equal(
      backend.requests.filter(({ target }) => target !== '/last'),
      [],
    )
    assert.equal(backend.ambiguous, [])
  })

for (const [name, fields] of Object.entries(OMITTED))
  downgrade(`leaves out ${name}`, async () => {
    const backend = stage.add(await Recorder.start())
    const gateway = await stage.gateway(routeTo(backend))
    await send(gateway, fields)
    for (const { head: text, target } of backend.requests.filter(
      (seen) => seen.target !== '/last',
    )) {
      assert.is(target, '/first')
      assert.is(text, 'POST /first HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n')
    }
  })

downgrade('sends the backend the requested host and no other', async () => {
  const backend = stage.add(await Recorder.start())
  const gateway = await stage.gateway(routeTo(backend))
  const fields: Field[] = [
    ['host', 'b'],
    ['te', 'trailers'],
    ['content-length', '5'],
    ['cookie', 'a=b'],
    ['cookie', 'c=d'],
  ]
  await send(gateway, head(fields))
  const [first] = backend.requests
  assert.is(
    first?.head,
    'POST /first HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncookie: a=b; c=d\r\n\r\n',
  )
  assert.is(first?.body, 'body!')
  assert.equal(backend.ambiguous, [])
})

downgrade.run()

// The levels of policies: listener policies run before a route is chosen, then route policies, then backend policies.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ask } from '../support/ask.ts'
import type { Backend } from '../support/backend.ts'
import { Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'

const levels = suite('levels of policies')
const stage = new Stage()
levels.after.each(() => stage.clear())

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const KEYS = 'apiKey: { mode: strict, keys: [{ key: k, metadata: { team: red } }] }'
const KEY = 'authorization: Bearer k'

interface Written {
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
}

async function setUp({ listener = '', route = '', backend = '' }: Written) {
  const server = await stage.backend([{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(textOf(server, { listener, route, backend }))
  return { server, gateway }
}

function textOf({ port }: Backend, { listener, route, backend }: Required<Written>): string {
  return `
gateways:
  g:
    port: \${PORT}
    address: 127.0.0.1
    listeners:
    - { name: l, protocol: HTTP, ${listener} }
    - { name: other, protocol: HTTP, hostname: other.example }
routes:
- { gateways: g/l, name: here, matches: [{ path: { pathPrefix: /here } }], policies: { ${route} },
    backends: [{ host: "127.0.0.1:${port}", policies: { ${backend} } }] }
- { gateways: g/other, name: open, policies: { directResponse: { status: 200, body: open } } }
`
}

async function statusOf(gateway: RunningGateway, ...lines: string[]): Promise<number> {
  return (await ask(gateway, ...lines)).status
}

levels(
  'decide at a listener before a route is chosen: a refusal does not reveal which routes exist',
  async () => {
    const { server, gateway } = await setUp({ listener: KEYS })
    for (const path of ['/here', '/nowhere', '/here/../nowhere', '/']) {
      const answer = await ask(gateway, `GET ${path} HTTP/1.1`)
      assert.is(answer.status, 401, path)
      assert.is(answer.body, 'api key authentication failure: no API Key found')
    }
    assert.is(server.received, '')
    assert.is(await statusOf(gateway, 'GET /nowhere HTTP/1.1', KEY), 404)
    assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', KEY), 200)
    const lines = await gateway.logged(6)
    assert.equal(
      lines.slice(0, 2).map(({ listener, route }) => [listener, route]),
      [
        ['gateway/g/l', undefined],
        ['gateway/g/l', undefined],
      ],
    )
  },
)

levels('at one listener do not apply to another on the same port', async () => {
  const { gateway } = await setUp({ listener: KEYS })
  const client = await RawClient.connect(gateway.port)
  stage.add({ close: () => client.destroy() })
  client.send('GET / HTTP/1.1\r\nhost: other.example\r\n\r\n')
  assert.match(await client.until(/open$/), '200 OK')
})

levels('provide identity to later levels, and remove the credential', async () => {
  const rule = (team: string) => `authorization: { rules: ['apiKey.team == "${team}"'] }`
  for (const level of ['listener', 'route', 'backend'] as const) {
    const at = (team: string): Written =>
      level === 'listener'
        ? { listener: `${KEYS}, ${rule(team)}` }
        : { listener: KEYS, [level]: rule(team) }
    const right = await setUp(at('red'))
    assert.is(await statusOf(right.gateway, 'GET /here HTTP/1.1', KEY), 200, level)
    assert.not.match(right.server.received, /authorization/i)
    const wrong = await setUp(at('blue'))
    assert.is(await statusOf(wrong.gateway, 'GET /here HTTP/1.1', KEY), 403, level)
    assert.is(wrong.server.received, '')
  }
})

levels('must all allow the request', async () => {
  const rule = (name: string) =>
    `authorization: { rules: [{ allow: 'request.headers["x-${name}"] == "1"' }] }`
  const { gateway } = await setUp({
    listener: rule('l'),
    route: rule('r'),
    backend: rule('b'),
  })
  const all = ['x-l: 1', 'x-r: 1', 'x-b: 1']
  assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', ...all), 200)
  for (const left of all) {
    const others = all.filter((one) => one !== left)
    assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', ...others), 403, left)
  }
})

levels('allow pages to read refusals, and answer preflights', async () => {
  const cors = 'cors: { allowOrigins: ["https://a.com"] }'
  const { gateway } = await setUp({ listener: `${cors}, ${KEYS}` })
  const origin = 'origin: https://a.com'
  const refused = await ask(gateway, 'GET /nowhere HTTP/1.1', origin)
  assert.equal(
    [refused.status, refused.headers['access-control-allow-origin']],
    [401, 'https://a.com'],
  )
  const lost = await ask(gateway, 'GET /nowhere HTTP/1.1', origin, KEY)
  assert.equal([lost.status, lost.headers['access-control-allow-origin']], [404, 'https://a.com'])
  const preflight = await ask(
    gateway,
    'OPTIONS /here HTTP/1.1',
    origin,
    'access-control-request-method: GET',
  )
  assert.is(preflight.status, 200)
})

levels('can require two credentials, each at its location', async () => {
  const second =
    'apiKey: { mode: strict, keys: [{ key: r }], location: { header: { name: x-key } } }'
  const { server, gateway } = await setUp({ listener: KEYS, route: second })
  assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', KEY), 401)
  assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', 'x-key: r'), 401)
  assert.is(await statusOf(gateway, 'GET /here HTTP/1.1', KEY, 'x-key: r'), 200)
  assert.not.match(server.received, /authorization|x-key/)
  const through = await setUp({
    listener: KEYS,
    route: `${second}, backendAuth: { passthrough: {} }`,
  })
  assert.is(await statusOf(through.gateway, 'GET /here HTTP/1.1', KEY, 'x-key: r'), 200)
  assert.match(through.server.received, /authorization: Bearer k\r\nx-key: r\r\n/)
})

levels.run()

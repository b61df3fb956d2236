// The web UI on a gateway's listener: the page and its read API, under policies, and never another endpoint of the admin
// interface, however it is requested.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UI_API_NAMES } from '../../../lib/core/well-known-paths.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { Http2Client } from '../../support/http2-client.ts'
import type { RawClient } from '../../support/raw-client.ts'
import { Reloading } from '../../support/reloading.ts'
import { until } from '../../support/until.ts'
import { mainScript } from '../../support/ui/page-files.ts'

const listener = suite('ui/listener')
const stage = new Stage()
listener.after.each(() => stage.clear())

const OWN = 'routes: [{ name: own, policies: { directResponse: { status: 200, body: own } } }]\n'
const BASIC =
  'basicAuth: { htpasswd: "a:$2b$04$VZ0Ykh5ZUpU2c.2oZ.L1quykW74GHtJMv18AO/uMgvka1QrPPzZhi" }'

type Place = RunningGateway | { readonly port: number }

async function start(place: Place, line: string, ...fields: string[]): Promise<RawClient> {
  const client = await stage.client({ port: place.port, host: '127.0.0.1' })
  const host = fields.some((field) => /^host:/i.test(field)) ? [] : ['host: localhost']
  client.send([`${line} HTTP/1.1`, ...host, ...fields, '', ''].join('\r\n'))
  return client
}

/** The whole response, to the end of the connection. */
async function ask(place: Place, line: string, ...fields: string[]): Promise<string> {
  return (await start(place, line, 'connection: close', ...fields)).untilClosed()
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])
}

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4)
}

listener('serves the page and its files, next to the routes of the configuration', async () => {
  const gateway = await stage.gateway(`${OWN}ui: {}\n`)
  const page = await ask(gateway, 'GET /ui')
  assert.is(statusOf(page), 200)
  assert.match(page, /\r\ncontent-security-policy: default-src 'none'; script-src 'self'; /)
  assert.match(page, '<div id="page">')
  const script = await ask(gateway, `GET ${mainScript()}`)
  assert.match(script, /\r\ncontent-type: text\/javascript; charset=utf-8\r\n/)
  const [, tag] = /\r\netag: (.*)\r\n/.exec(script) ?? []
  const known = await ask(gateway, `GET ${mainScript()}`, `if-none-match: ${tag}`)
  assert.is(statusOf(known), 304)
  assert.is(bodyOf(known), '')
  assert.is(bodyOf(await ask(gateway, 'HEAD /ui')), '')
  for (const path of ['/other', '/api', '/api/mine', '/api/runtime/mine', '/uix', '/UI'])
    assert.is(bodyOf(await ask(gateway, `GET ${path}`)), 'own', path)
})

listener('redirects the root to the page where no route matches', async () => {
  const free = await stage.gateway(
    'routes: [{ matches: [{ path: { pathPrefix: /v1 } }], policies: { directResponse: { status: 200, body: own } } }]\nui: {}\n',
  )
  const answer = await ask(free, 'GET /?a=b')
  assert.is(statusOf(answer), 308)
  assert.match(answer, /\r\nlocation: \/ui\r\n/)
  assert.match(answer, /\r\ncache-control: no-store\r\n/)
  assert.is(statusOf(await ask(free, 'GET /other')), 404)
  assert.match(await ask(free, 'GET /favicon.ico'), /\r\ncontent-type: image\/x-icon\r\n/)
  const taken = await stage.gateway(`${OWN}ui: {}\n`)
  for (const path of ['/', '/favicon.ico'])
    assert.is(bodyOf(await ask(taken, `GET ${path}`)), 'own', path)
})

/** Each tries to reach an endpoint that must not be served here. */
const AWAY = [
  ...['/quitquitquit', '/config_dump', '/logging', '/logging?level=trace', '/memory'],
  ...['/debug/trace', '/debug/tasks', '/debug/pprof/profile', '/debug/pprof/heap'],
  ...['/api/playground', '/api/oauth/start', '/api/oauth/finish', '/api', '/api/', '/ui/signed-in'],
  ...['/ui/../config_dump', '/ui/%2e%2e/config_dump', '/ui/%2E%2E%2Fconfig_dump'],
  ...['/ui/..%5cconfig_dump', '/ui/./../config_dump', '/ui//../../config_dump'],
  ...['/ui/..;/config_dump', '/ui;/config_dump', '/ui%00/config_dump', '/ui/\\..\\config_dump'],
  ...['//ui/../config_dump', '//api/../config_dump', '//config_dump', '/.//config_dump'],
  ...[
    '/api/runtime/../playground',
    '/api/runtime/%2e%2e/playground',
    '/api/runtime/..%2fplayground',
  ],
  ...['/api/runtime/', '/api/%2572untime', '/API/runtime', '/api/runtime%2f..%2fplayground'],
  ...['/ui/api/runtime', '/ui/lib/ui/service.js', '/ui/lib/ui/page/../service.js'],
  ...[
    '/ui/lib/ui/page/..%2fservice.js',
    '/ui/lib/../../package.json',
    '/ui/vendor/..%2f..%2fpackage.json',
  ],
  ...[
    'http://localhost/config_dump',
    'http://localhost/ui/../config_dump',
    'http://admin/quitquitquit',
  ],
  ...['http://127.0.0.1:15000/config_dump', 'http://localhost/api/playground'],
]

/** Where the request went: to no target, or to a route of the configuration. */
function isAway(answer: string): boolean {
  const body = bodyOf(answer)
  const status = statusOf(answer)
  return status === 404 || (status === 400 && !body.includes('binds')) || body === 'own'
}

for (const [name, routes] of [
  ['with', OWN],
  ['without', ''],
] as const)
  listener(`no other endpoint can be reached, ${name} routes of the configuration`, async () => {
    const gateway = await stage.gateway(`${routes}ui: {}\n`)
    for (const target of AWAY)
      for (const method of ['GET', 'POST']) {
        const answer = await ask(gateway, `${method} ${target}`, 'content-length: 0')
        assert.ok(isAway(answer), `${method} ${target}: ${answer}`)
      }
  })

listener('no other endpoint can be reached over HTTP/2 either', async () => {
  const gateway = await stage.gateway('ui: {}\n')
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  for (const path of AWAY.filter((target) => target.startsWith('/')))
    for (const method of ['GET', 'POST']) {
      const request = client.request(
        {
          ':path': path,
          ':method': method,
          ':authority': 'localhost',
        },
        { endStream: true },
      )
      await request.closed()
      assert.ok(
        request.status === 404 || request.status === 400,
        `${method} ${path}: ${request.status}`,
      )
    }
  const page = client.request({ ':path': '/ui', ':authority': 'localhost' })
  await page.closed()
  assert.is(page.status, 200)
  assert.match(page.body, '<div id="page">')
})

listener('answers only GET and HEAD', async () => {
  const gateway = await stage.gateway('ui: {}\n')
  for (const path of ['/ui', ...UI_API_NAMES.map((part) => `/api/${part}`)])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(gateway, `${method} ${path}`, 'content-length: 2', '', 'ab')
      assert.is(statusOf(answer), 405, `${method} ${path}`)
      assert.match(answer, /\r\nallow: GET, HEAD\r\n/)
    }
})

listener('without a policy on loopback, answers only to host names of this machine', async () => {
  const gateway = await stage.gateway(`${OWN}ui: {}\n`)
  for (const path of ['/ui', '/api/runtime', mainScript()]) {
    const answer = await ask(gateway, `GET ${path}`, 'host: evil.example')
    assert.is(statusOf(answer), 403)
    assert.match(
      bodyOf(answer),
      /^{"error":"forbidden: Host must be a loopback name such as localhost for the web UI/,
    )
  }
  for (const host of ['localhost:80', '127.0.0.1', '[::1]:9', 'a.localhost'])
    assert.is(statusOf(await ask(gateway, 'GET /ui', `host: ${host}`)), 200, host)
  assert.is(bodyOf(await ask(gateway, 'GET /other', 'host: evil.example')), 'own')
  const guarded = await stage.gateway(`ui: { policies: { ${BASIC} } }\n`)
  assert.is(statusOf(await ask(guarded, 'GET /ui', 'host: evil.example')), 401)
  const ruled = await stage.gateway("ui: { policies: { authorization: { rules: ['true'] } } }\n")
  assert.is(statusOf(await ask(ruled, 'GET /ui', 'host: evil.example')), 403)
  assert.is(statusOf(await ask(ruled, 'GET /ui')), 200)
})

listener('policies decide about access, and routes of the configuration do not match', async () => {
  const gateway = await stage.gateway(`${OWN}ui: { policies: { ${BASIC} } }\n`)
  const refused = await ask(gateway, 'GET /ui')
  assert.is(statusOf(refused), 401)
  assert.match(refused, /\r\nwww-authenticate: Basic /i)
  for (const path of [mainScript(), '/api/runtime', '/api/live', '/api/trace', '/ui/none'])
    assert.is(statusOf(await ask(gateway, `GET ${path}`)), 401, path)
  assert.is(gateway.watchers.count, 0)
  assert.is(bodyOf(await ask(gateway, 'GET /other')), 'own')
  const known = `authorization: Basic ${Buffer.from('a:secret').toString('base64')}`
  assert.is(statusOf(await ask(gateway, 'GET /ui', known)), 200)
  const wrong = `authorization: Basic ${Buffer.from('a:other').toString('base64')}`
  assert.is(statusOf(await ask(gateway, 'GET /ui', wrong)), 401)
})

listener('authorization rules, keys in cookies and CORS work as on any route', async () => {
  const policies = [
    'apiKey: { keys: [{ key: k1, metadata: { role: admin } }, { key: k2 }], mode: strict, location: { cookie: { name: key } } }',
    'authorization: { rules: [{ allow: \'apiKey.role == "admin"\' }] }',
    'cors: { allowOrigins: ["https://ops.example"] }',
  ]
  const gateway = await stage.gateway(`ui: { policies: { ${policies.join(', ')} } }\n`)
  assert.is(statusOf(await ask(gateway, 'GET /ui')), 401)
  assert.is(statusOf(await ask(gateway, 'GET /ui', 'cookie: key=k2')), 403)
  assert.is(statusOf(await ask(gateway, 'GET /ui', 'cookie: key=k1')), 200)
  const origin = 'origin: https://ops.example'
  const preflight = await ask(
    gateway,
    'OPTIONS /api/runtime',
    origin,
    'access-control-request-method: GET',
  )
  assert.match(preflight, /\r\naccess-control-allow-origin: https:\/\/ops\.example\r\n/)
  const site = 'sec-fetch-site: cross-site'
  const read = await ask(gateway, 'GET /api/runtime', 'cookie: key=k1', origin, site)
  assert.is(statusOf(read), 200)
  assert.match(read, /\r\naccess-control-allow-origin: https:\/\/ops\.example\r\n/)
  const evil = 'origin: https://evil.example'
  const other = await ask(gateway, 'GET /ui', 'cookie: key=k1', evil, site)
  assert.is(statusOf(other), 403)
  assert.not.match(other, /access-control-allow-origin/)
})

listener('refuses pages of other sites, even where other routes allow them', async () => {
  const gateway = await stage.gateway(
    `gateways: { default: { port: \${PORT}, address: 127.0.0.1, cors: { allowOrigins: ["*"] } } }\n${OWN}ui: {}\n`,
  )
  for (const path of ['/api/trace', '/api/live?topics=config', '/api/config', '/ui'])
    for (const from of ['sec-fetch-site: cross-site', 'origin: https://evil.example']) {
      const answer = await ask(gateway, `GET ${path}`, from)
      assert.is(statusOf(answer), 403, `${path} ${from}`)
      assert.match(bodyOf(answer), /^{"error":"forbidden: the web UI does not answer other /)
    }
  assert.is(gateway.watchers.count, 0)
  const own = await ask(gateway, 'GET /other', 'origin: https://evil.example')
  assert.match(own, /\r\naccess-control-allow-origin: /)
  assert.is(bodyOf(own), 'own')
})

listener('logs and counts requests for the page like others', async () => {
  const gateway = await stage.gateway('ui: {}\n')
  await ask(gateway, 'GET /ui?secret=1')
  const [line] = await gateway.logged(1)
  assert.is(line!['route'], 'gateway/default/ui')
  assert.is(line!['endpoint'], 'ui')
  assert.is(line!['http.path'], '/ui')
  assert.is(line!['outcome'], 'complete')
})

listener('a trace does not show requests for the page', async () => {
  const gateway = await stage.gateway(`${OWN}ui: {}\n`)
  const watcher = await start(gateway, 'GET /api/trace', 'connection: close')
  const head = await watcher.until(/: ready\n\n/)
  assert.match(head, /\r\ncontent-type: text\/event-stream\r\n/)
  assert.match(head, /\r\nx-accel-buffering: no\r\n/)
  for (const path of ['/ui', '/ui/none', mainScript(), '/api/trace?expression=1'])
    await ask(gateway, `GET ${path}`)
  assert.is(gateway.watchers.count, 1)
  assert.not.match(watcher.text, 'data: ')
  await ask(gateway, 'GET /own')
  const text = await watcher.untilClosed()
  assert.match(text, '"path":"/own"')
  assert.match(text, /"requestFinished"[^]*\r\n0\r\n\r\n$/)
  const ends = (await gateway.logged(6)).map(({ outcome }) => outcome)
  assert.ok(ends.every((outcome) => outcome === 'complete'))
})

listener(
  'a stream over HTTP/2 ends with its last event, and a reset stream is released',
  async () => {
    const gateway = await stage.gateway(`${OWN}ui: {}\n`)
    const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
    const head = { ':path': '/api/trace', ':authority': 'localhost' }
    const gone = client.request(head)
    await gone.until(() => gone.body.includes(': ready'))
    assert.is(gone.head['content-type'], 'text/event-stream')
    gone.stream.close(8)
    await until('it to be left', () => gateway.watchers.count === 0)
    const watcher = client.request(head)
    await watcher.until(() => watcher.body.includes(': ready'))
    await ask(gateway, 'GET /own')
    assert.is(await watcher.closed(), 0)
    assert.match(watcher.body, '"requestFinished"')
  },
)

listener('a reader that leaves no longer waits; HEAD of a stream opens none', async () => {
  const gateway = await stage.gateway('ui: {}\n')
  const watcher = await start(gateway, 'GET /api/trace')
  await watcher.until(/: ready/)
  watcher.destroy()
  await until('it to be left', () => gateway.watchers.count === 0)
  const head = await ask(gateway, 'HEAD /api/trace')
  assert.is(statusOf(head), 200)
  assert.is(gateway.watchers.count, 0)
})

const LARGE = 'a'.repeat(8 * 1_048_576)

listener('a reader that stalls delays no other, and gets the end when it reads on', async () => {
  const backend = await stage.backend([
    { wait: /\r\n\r\n/ },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: ${LARGE.length}\r\n\r\n${LARGE}` },
  ])
  const gateway = await stage.gateway(
    `config: { trace: { maxBodyBytes: ${LARGE.length} } }\n` +
      `routes: [{ name: own, backends: [{ host: 127.0.0.1:${backend.port} }] }]\nui: {}\n`,
  )
  const watcher = await start(gateway, 'GET /api/trace', 'connection: close')
  await watcher.until(/: ready/)
  watcher.socket.pause()
  const answer = await ask(gateway, 'GET /own')
  assert.is(bodyOf(answer).length, LARGE.length)
  watcher.socket.resume()
  assert.match(await watcher.untilClosed(), '"requestFinished"')
})

listener('a reload that removes the page ends its streams and releases them', async () => {
  const reloading = stage.add(await Reloading.start(`${OWN}ui: {}\n`))
  const watcher = await start(reloading, 'GET /api/trace', 'connection: close')
  await watcher.until(/: ready/)
  await reloading.change(OWN)
  assert.match(await watcher.untilClosed(), /\r\n0\r\n\r\n$/)
  assert.is(reloading.gateway.watchers.count, 0)
  for (const path of ['/ui', mainScript(), '/api/runtime', '/api/trace'])
    assert.is(bodyOf(await ask(reloading, `GET ${path}`)), 'own', path)
  await reloading.change(`${OWN}ui: { policies: { ${BASIC} } }\n`)
  assert.is(statusOf(await ask(reloading, 'GET /ui')), 401)
})

listener('a stop does not wait for readers', async () => {
  const gateway = await stage.gateway('ui: {}\n')
  const watcher = await start(gateway, 'GET /api/trace')
  await watcher.until(/: ready/)
  await gateway.stop()
  assert.match(await watcher.untilClosed(), /\r\n0\r\n\r\n$/)
})

listener.run()

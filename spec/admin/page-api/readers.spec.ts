// What the page reads on a gateway's listener: every part of the API, and a limited number of streams.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UI_API_NAMES } from '../../../lib/core/well-known-paths.ts'
import { startTrace } from '../../../lib/trace/trace-watchers.ts'
import type {
  ConfigView,
  LogsView,
  RuntimeView,
} from '../../../lib/admin/page-api/page-api-types.ts'
import { maxListenerStreams } from '../../../lib/admin/page-api/page-service.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { Http2Client } from '../../support/http2-client.ts'
import type { RawClient } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'

const readers = suite('ui/readers')
const stage = new Stage()
readers.after.each(() => stage.clear())

const LIVE = '/api/live?topics=config'
const CONFIG = `routes:
- name: own
  matches: [{ path: { pathPrefix: /v1 } }]
  policies: { directResponse: { status: 200, body: own } }
ui: {}
`

async function start(gateway: RunningGateway, path: string, ...fields: string[]) {
  const client = await stage.client(gateway)
  client.send([`GET ${path} HTTP/1.1`, 'host: localhost', ...fields, '', ''].join('\r\n'))
  return client
}

async function whole(gateway: RunningGateway, path: string): Promise<string> {
  return (await start(gateway, path, 'connection: close')).untilClosed()
}

async function read<T>(gateway: RunningGateway, part: string): Promise<T> {
  const answer = await whole(gateway, `/api/${part}`)
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/, part)
  assert.match(answer, /\r\ncontent-type: application\/json\r\n/)
  assert.match(answer, /\r\ncache-control: no-store\r\n/)
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as T
}

async function listening(gateway: RunningGateway): Promise<RawClient> {
  const client = await start(gateway, LIVE)
  await client.until(/event: config\ndata: /)
  return client
}

readers('serves every part', async () => {
  const gateway = await stage.gateway(CONFIG)
  for (const part of UI_API_NAMES.filter((one) => one !== 'trace' && one !== 'live'))
    assert.type(await read(gateway, part), 'object')
  const { place, listeners } = await read<RuntimeView>(gateway, 'runtime')
  assert.is(place, 'listener')
  assert.equal(
    listeners.map(({ name }) => name),
    ['default'],
  )
  const { yaml } = await read<ConfigView>(gateway, 'config')
  assert.match(yaml, /^ui:/m)
  assert.type((await read<LogsView>(gateway, 'logs')).filter, 'string')
})

readers('live events arrive over HTTP/1 and HTTP/2 when a request ends', async () => {
  const gateway = await stage.gateway(CONFIG)
  const first = await start(gateway, '/api/live?topics=runtime')
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const second = client.request({ ':path': LIVE, ':authority': 'localhost' })
  await second.until(() => /event: config\ndata: {"generation":1/.test(second.body))
  assert.is(second.head['content-type'], 'text/event-stream')
  await whole(gateway, '/v1')
  await first.until(/event: runtime\ndata: {"at":\d+,"span":\d+,"requests":1,/)
})

const MAX_LISTENER_STREAMS = maxListenerStreams()

readers('refuses one reader too many, and accepts it when another has left', async () => {
  const gateway = await stage.gateway(CONFIG)
  const open: RawClient[] = []
  while (open.length < MAX_LISTENER_STREAMS) open.push(await listening(gateway))
  for (const path of [LIVE, '/api/trace']) {
    const refused = await whole(gateway, path)
    assert.match(refused, /^HTTP\/1\.1 503 /)
    assert.match(
      refused,
      /\r\n\r\n{"error":"too many event streams: 16 are open already \(config\.ui\.maxReaders\)"}$/,
    )
  }
  const { series } = gateway.measures.find(({ name }) => name === 'refused_total')!
  const counted = [...series].filter(([, count]) => count !== 0)
  assert.equal(counted, [[{ limit: 'maxReaders' }, 2]])
  assert.match(await whole(gateway, '/api/runtime'), /^HTTP\/1\.1 200 /)
  assert.match(await whole(gateway, '/v1'), /own$/)
  open[0]!.destroy()
  // The access log shows when the stream has ended.
  const isLeft = (): boolean =>
    gateway.lines.some((line) => line['outcome'] === 'client_closed' && line['route'] !== undefined)
  await until('it to be left', isLeft)
  await listening(gateway)
})

readers('the number of readers is configured, half of them for listeners', async () => {
  const gateway = await stage.gateway(`config: { ui: { maxReaders: 2 } }\n${CONFIG}`)
  await listening(gateway)
  assert.match(await whole(gateway, LIVE), 'too many event streams: 1 are open')
})

readers('an operator can trace, however many clients trace on a listener', async () => {
  const gateway = await stage.gateway(CONFIG)
  for (let count = 0; count < MAX_LISTENER_STREAMS; count++)
    await (await start(gateway, '/api/trace')).until(/: ready/)
  assert.match(await whole(gateway, '/api/trace'), /^HTTP\/1\.1 503 /)
  assert.is(gateway.watchers.count, MAX_LISTENER_STREAMS)
  assert.is(startTrace(gateway.watchers, { expression: null, token: null }).kind, 'granted')
})

readers.run()

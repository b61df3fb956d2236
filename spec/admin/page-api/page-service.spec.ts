// The web UI service, as both the admin interface and a listener call it.

import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_PAGE_STREAMS } from '../../../lib/core/bounds.ts'
import { UI_API_NAMES } from '../../../lib/core/well-known-paths.ts'
import type { UiInterface } from '../../../lib/admin/page-api/page-api-types.ts'
import type { UiResponse } from '../../../lib/admin/page-api/page-request.ts'
import { maxListenerStreams, UiService } from '../../../lib/admin/page-api/page-service.ts'
import { StalledWriter } from '../../support/stalled-writer.ts'
import { Readers } from '../../support/ui-sources.ts'
import { mainScript } from '../../support/ui/page-files.ts'

const service = suite('ui/service')

const MAIN = mainScript()
const LIVE = '/api/live?topics=runtime'

type Whole = Extract<UiResponse, { kind: 'whole' }>

function made(readers = new Readers()): UiService {
  return new UiService(readers.sources)
}

interface More {
  readonly place?: UiInterface
  readonly ifNoneMatch?: string
  readonly acceptEncoding?: string
}

/** `GET /path`, or another method in front. */
function ask(ui: UiService, line: string, more: More = {}) {
  const { place = 'admin', ifNoneMatch, acceptEncoding } = more
  const [method = '', target = ''] = line.split(' ')
  const [path = '', query = ''] = target.split('?')
  const asked = { method, path, query: new URLSearchParams(query), ifNoneMatch, acceptEncoding }
  return ui.answer(asked, place)
}

function whole(answer: UiResponse | null): Whole & { field: (name: string) => string | undefined } {
  if (answer?.kind !== 'whole') throw new Error(`got ${answer?.kind}`)
  return { ...answer, field: (name) => answer.fields.find(([one]) => one === name)?.[1] }
}

function errorIn(answer: UiResponse | null): [number, unknown] {
  const { status, content, field } = whole(answer)
  assert.is(field('content-type'), 'application/json')
  return [status, JSON.parse(String(content))]
}

service('builds the map once for concurrent clients, and again for a new configuration', () => {
  let generation = 1
  let drawn = 0
  const map = () => ({ drawn: ++drawn }) as never
  const ui = new UiService({ ...new Readers().sources, map, generation: () => generation })
  const told = () => String(whole(ask(ui, 'GET /api/map')).content)
  for (let i = 0; i < 3; i++) assert.is(told(), '{"drawn":1}')
  generation = 2
  assert.is(told(), '{"drawn":2}')
})

service('answers null for paths outside of the web UI', () => {
  const ui = made()
  for (const path of ['/', '/uix', '/apis', '/config_dump', '/UI', '/Api/runtime', '//ui', ''])
    assert.is(ask(ui, `GET ${path}`), null, path)
})

service('the page has a content security policy that allows nothing from outside', () => {
  const ui = made()
  for (const path of ['/ui', '/ui/'])
    for (const place of ['admin', 'listener'] as const) {
      const { status, field, content } = whole(ask(ui, `GET ${path}`, { place }))
      assert.is(status, 200)
      assert.is(field('content-type'), 'text/html; charset=utf-8')
      assert.match(
        field('content-security-policy')!,
        /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      )
      assert.is(field('referrer-policy'), 'no-referrer')
      assert.is(field('x-content-type-options'), 'nosniff')
      assert.is(field('cross-origin-opener-policy'), 'same-origin')
      assert.match(String(content), '<!doctype html>')
    }
})

service('serves the redirect page of a provider on the admin interface only', () => {
  const ui = made()
  const { status, field } = whole(ask(ui, 'GET /ui/signed-in?code=a', { ifNoneMatch: '*' }))
  assert.is(status, 200)
  assert.is(field('cache-control'), 'no-store')
  assert.is(field('etag'), undefined)
  assert.ok(field('content-security-policy'))
  const there = ask(ui, 'GET /ui/signed-in?code=a', { place: 'listener' })
  assert.equal(errorIn(there), [404, { error: 'not found' }])
})

service('the browser keeps files with a hash in their name, and revalidates the page', () => {
  const ui = made()
  const { status, field, content } = whole(ask(ui, `GET ${MAIN}`))
  assert.is(status, 200)
  assert.is(field('cache-control'), 'public, max-age=31536000, immutable')
  assert.is(whole(ask(ui, 'GET /ui')).field('cache-control'), 'no-cache')
  assert.is(field('x-content-type-options'), 'nosniff')
  assert.ok(content.length > 0)
  const tag = field('etag')!
  for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = whole(ask(ui, `GET ${MAIN}`, { ifNoneMatch }))
    assert.is(again.status, 304, ifNoneMatch)
    assert.is(again.content, '')
    assert.is(again.field('etag'), tag)
  }
  assert.is(whole(ask(ui, `GET ${MAIN}`, { ifNoneMatch: '"other"' })).status, 200)
  assert.is(whole(ask(ui, 'GET /ui', { ifNoneMatch: tag })).status, 200)
})

service('a file is sent in the smallest form that the browser accepts', () => {
  const ui = made()
  const sent = (acceptEncoding: string) => {
    const { field, content } = whole(ask(ui, `GET ${MAIN}`, { acceptEncoding }))
    assert.is(field('vary'), 'accept-encoding')
    return { coding: field('content-encoding'), tag: field('etag')!, content: Buffer.from(content) }
  }
  const plain = sent('')
  const br = sent('gzip, deflate, br, zstd')
  const gzip = sent('gzip, deflate')
  assert.equal([plain.coding, br.coding, gzip.coding], [undefined, 'br', 'gzip'])
  assert.ok(br.content.length < gzip.content.length && gzip.content.length < plain.content.length)
  assert.equal(brotliDecompressSync(br.content), plain.content)
  assert.equal(gunzipSync(gzip.content), plain.content)
  assert.is(new Set([plain.tag, br.tag, gzip.tag]).size, 3)
  assert.is(sent('br;q=0, GZIP;q=0.5').coding, 'gzip')
  assert.is(sent('br;q=0.0, identity').coding, undefined)
  const known = { acceptEncoding: 'br', ifNoneMatch: br.tag }
  assert.is(whole(ask(ui, `GET ${MAIN}`, known)).status, 304)
})

service('the icon is there under the name that browsers ask for by themselves', () => {
  const ui = made()
  for (const place of ['admin', 'listener'] as const) {
    const { status, field, content } = whole(ask(ui, 'GET /favicon.ico', { place }))
    assert.is(status, 200)
    assert.is(field('content-type'), 'image/x-icon')
    assert.is(field('vary'), undefined)
    assert.ok(content.length > 0)
  }
})

service('answers each part as compact JSON that is not cached, and passes the place on', () => {
  const ui = made()
  for (const place of ['admin', 'listener'] as const)
    for (const part of UI_API_NAMES.filter((one) => one !== 'trace' && one !== 'live')) {
      const { status, field, content } = whole(ask(ui, `GET /api/${part}?after=7`, { place }))
      assert.is(status, 200)
      assert.is(field('content-type'), 'application/json')
      assert.is(field('cache-control'), 'no-store')
      assert.is(content, `{"part":"${part}","place":"${place}","query":"after=7"}`)
    }
})

service('answers 404 for unknown paths in any spelling', () => {
  const ui = made()
  const paths = [
    '/api',
    '/api/',
    '/api/playground',
    '/api/oauth/start',
    '/api/runtime/',
    '/api/runtime/../playground',
    '/api/%72untime',
    '/api/constructor',
    '/ui/../config_dump',
    '/ui/%2e%2e/config_dump',
    '/ui/lib/ui/service.js',
    '/ui/none',
    '/ui/ui',
  ]
  for (const path of paths)
    for (const place of ['admin', 'listener'] as const)
      for (const method of ['GET', 'POST'])
        assert.equal(
          errorIn(ask(ui, `${method} ${path}`, { place })),
          [404, { error: 'not found' }],
          path,
        )
})

service('answers 405 for methods that do more than read', () => {
  const ui = made()
  for (const path of ['/ui', MAIN, '/api/runtime', LIVE])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'get']) {
      const answer = ask(ui, `${method} ${path}`)
      assert.is(whole(answer).field('allow'), 'GET, HEAD')
      const expected = { error: `got ${method}, expected GET or HEAD` }
      assert.equal(errorIn(answer), [405, expected])
    }
  assert.is(whole(ask(ui, 'HEAD /api/runtime')).status, 200)
})

const MAX_LISTENER_STREAMS = maxListenerStreams()

function read(ui: UiService, place: UiInterface = 'admin'): [StalledWriter, () => void] {
  const answer = ask(ui, `GET ${LIVE}`, { place })
  if (answer?.kind !== 'events') throw new Error(`got ${JSON.stringify(answer)}`)
  const out = new StalledWriter()
  return [out, answer.open(out)]
}

service('counts the streams of both places together, and answers 503 for one too many', () => {
  const readers = new Readers()
  const ui = made(readers)
  const open = Array.from({ length: MAX_PAGE_STREAMS }, (_, at) =>
    read(ui, at % 2 === 0 ? 'admin' : 'listener'),
  )
  for (const place of ['admin', 'listener'] as const) {
    const [status, body] = errorIn(ask(ui, `GET ${LIVE}`, { place }))
    assert.is(status, 503)
    assert.equal(body, {
      error: 'too many event streams: 32 are open already (config.ui.maxReaders)',
    })
  }
  open[0]![1]()
  assert.is(readers.left, 1)
  read(ui)
  assert.is(errorIn(ask(ui, `GET ${LIVE}`))[0], 503)
  assert.is(errorIn(ask(ui, `GET /api/trace`))[0], 503)
})

service('streams on listeners leave space for the admin interface', () => {
  const ui = made()
  const late = ask(ui, `GET ${LIVE}`, { place: 'listener' })
  const [first] = Array.from({ length: MAX_LISTENER_STREAMS }, () => read(ui, 'listener'))
  const [status, body] = errorIn(ask(ui, 'GET /api/trace', { place: 'listener' }))
  assert.is(status, 503)
  assert.equal(body, {
    error: 'too many event streams: 16 are open already (config.ui.maxReaders)',
  })
  if (late?.kind !== 'events') throw new Error('not granted')
  const out = new StalledWriter()
  late.open(out)
  assert.is(out.state, 'ended')
  first![1]()
  read(ui, 'listener')
  for (let count = MAX_LISTENER_STREAMS; count < MAX_PAGE_STREAMS; count++) read(ui, 'admin')
  assert.is(errorIn(ask(ui, `GET ${LIVE}`))[0], 503)
})

service('a stream that was granted and never read is not counted', () => {
  const ui = made()
  for (let count = 0; count <= MAX_PAGE_STREAMS; count++)
    assert.is(ask(ui, `GET ${LIVE}`)?.kind, 'events')
})

service(
  'a stream that was granted before others were opened ends at once if it is one too many',
  () => {
    const readers = new Readers()
    const ui = made(readers)
    const late = ask(ui, `GET ${LIVE}`)
    for (let count = 0; count < MAX_PAGE_STREAMS; count++) read(ui)
    if (late?.kind !== 'events') throw new Error('not granted')
    const out = new StalledWriter()
    const leave = late.open(out)
    assert.is(out.state, 'ended')
    assert.is(readers.open.length, MAX_PAGE_STREAMS)
    leave()
    assert.is(errorIn(ask(ui, `GET ${LIVE}`))[0], 503)
  },
)

service('a refusal of a source is not counted as a stream', () => {
  const ui = made()
  assert.equal(errorIn(ask(ui, 'GET /api/live')), [400, { error: 'no topics' }])
  const [status, body] = errorIn(ask(ui, 'GET /api/trace?expression=1'))
  assert.is(status, 400)
  assert.match((body as { error: string }).error, /^invalid expression: /)
})

service(
  'ends streams on listeners when access changes, and keeps those of the admin interface',
  () => {
    const ui = made()
    const [there] = read(ui, 'listener')
    const [here] = read(ui, 'admin')
    there.drain()
    ui.endListenerStreams()
    assert.is(there.state, 'ended')
    assert.is(here.state, 'open')
  },
)

service('does not wait for a stalled reader on a listener', () => {
  const ui = made()
  const [there] = read(ui, 'listener')
  ui.endListenerStreams()
  assert.is(there.state, 'destroyed')
})

service.run()

// The web UI as a backend: how it handles requests and responses.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Attempt, Reply } from '../../../lib/core/types.ts'
import { UiBackend } from '../../../lib/admin/page-api/page-backend.ts'
import type { UiHosts } from '../../../lib/admin/page-api/page-backend.ts'
import { UiService } from '../../../lib/admin/page-api/page-service.ts'
import { contentOf, exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { Readers } from '../../support/ui-sources.ts'
import { mainScript } from '../../support/ui/page-files.ts'

const backend = suite('ui/backend')

/** An origin that the configuration allows. */
const FRIEND = 'https://ops.example'

function never(): never {
  throw new Error('the page does not fail')
}

/** `GET /path`, and header fields. */
function ask(hosts: UiHosts, line: string, ...fields: string[]): Reply {
  const readers = new Readers()
  const letsIn = (origin: string): boolean => origin === FRIEND
  const page = new UiBackend(() => new UiService(readers.sources), { hosts, allowsOrigin: letsIn })
  const exchange = exchangeOf(requestOf(`${line} HTTP/1.1`, 'host: gw.example', ...fields))
  let found: Reply | null = null
  const attempt: Attempt = {
    body: exchange.body,
    answer: (reply) => (found = reply),
    fail: never,
  }
  page.call(exchange, attempt)
  return found ?? never()
}

backend('passes the query on, and its response has a length and a date', () => {
  const { head, body } = ask('any', 'GET /api/logs?after=3&x=%20')
  assert.is(head.status, 200)
  assert.is(head.get('content-type'), 'application/json')
  assert.is(head.get('content-length'), String(body.length))
  assert.ok(head.has('date'))
  const content = contentOf(ask('any', 'GET /api/logs?after=3&x=%20'))
  assert.is(content, '{"part":"logs","place":"listener","query":"after=3&x=+"}')
})

backend('compares entity tags of any number of header lines', () => {
  const tag = ask('any', 'GET /ui').head.get('etag')!
  const { head, body } = ask('any', 'GET /ui', 'if-none-match: "a"', `if-none-match: ${tag}`)
  assert.is(head.status, 304)
  assert.not(head.has('content-length'))
  assert.is(body.framing, 'none')
})

backend('a stream has no length', () => {
  const { head, body } = ask('any', 'GET /api/live?topics=runtime')
  assert.is(head.get('content-type'), 'text/event-stream')
  assert.is(body.framing, 'open')
  assert.is(body.length, -1)
})

backend('redirects the root to the page, and answers 404 for unknown paths', () => {
  const { head } = ask('any', 'GET /?a')
  assert.is(head.status, 308)
  assert.is(head.get('location'), '/ui')
  for (const path of ['/config_dump', '/quitquitquit', '/ui/signed-in', '/api/playground']) {
    const reply = ask('any', `GET ${path}`)
    assert.is(reply.head.status, 404)
    assert.is(contentOf(reply), '{"error":"not found"}')
  }
})

backend('refuses host names of other machines where DNS rebinding is possible', () => {
  for (const path of ['/', '/ui', '/api/runtime', '/api/live?topics=runtime'])
    assert.is(ask('loopback', `GET ${path}`).head.status, 403, path)
})

/** A path of each kind. */
const PATHS = ['/', '/ui', mainScript(), '/api/config', '/api/trace', '/api/live?topics=a']

function isAnswered(line: string, ...fields: string[]): boolean {
  const { head, body } = ask('any', line, ...fields)
  body.cancel()
  return head.status !== 403
}

backend('refuses pages of other sites, and says why', () => {
  for (const path of PATHS) {
    for (const site of ['cross-site', 'same-site', 'new-word', ''])
      assert.not.ok(isAnswered(`GET ${path}`, `sec-fetch-site: ${site}`), `${path} ${site}`)
    for (const site of ['same-origin', 'none'])
      assert.ok(isAnswered(`GET ${path}`, `sec-fetch-site: ${site}`), `${path} ${site}`)
    assert.not.ok(isAnswered(`POST ${path}`, 'sec-fetch-site: cross-site'), path)
    assert.not.ok(
      isAnswered(`GET ${path}`, 'sec-fetch-site: none', 'sec-fetch-site: cross-site'),
      path,
    )
  }
  assert.is(
    contentOf(ask('any', 'GET /api/config', 'sec-fetch-site: cross-site')),
    '{"error":"forbidden: the web UI does not answer other sites"}',
  )
  assert.is(
    contentOf(ask('any', 'GET /api/config', 'origin: http://evil.example')),
    '{"error":"forbidden: the web UI does not answer other origins"}',
  )
})

backend('answers its own page under any scheme', () => {
  for (const origin of ['http://gw.example', 'https://gw.example', 'https://GW.example:443'])
    assert.ok(isAnswered('GET /api/runtime', `origin: ${origin}`), origin)
  for (const origin of [
    'http://gw.example:8080',
    'https://gw.example:80',
    'http://evil.example',
    'http://gw.example.evil.example',
    'http://gw.example@evil.example',
    'null',
    '',
  ])
    for (const path of PATHS)
      assert.not.ok(isAnswered(`GET ${path}`, `origin: ${origin}`), `${origin} ${path}`)
})

const FOLLOWED = ['sec-fetch-site: cross-site', 'sec-fetch-mode: navigate']

backend('a link opens the page, and no data', () => {
  for (const path of ['/', '/ui', '/ui/'])
    assert.ok(isAnswered(`GET ${path}`, ...FOLLOWED, 'sec-fetch-dest: document'), path)
  for (const path of ['/api/config', '/api/trace', '/api/live?topics=a'])
    assert.not.ok(isAnswered(`GET ${path}`, ...FOLLOWED, 'sec-fetch-dest: document'), path)
  for (const dest of ['iframe', 'script', 'empty'])
    assert.not.ok(isAnswered('GET /ui', ...FOLLOWED, `sec-fetch-dest: ${dest}`), dest)
})

backend('an allowed origin can read, and no other page of its site', () => {
  const from = ['sec-fetch-site: cross-site', 'sec-fetch-mode: cors']
  for (const path of PATHS) assert.ok(isAnswered(`GET ${path}`, ...from, `origin: ${FRIEND}`), path)
  assert.not.ok(isAnswered('GET /api/config', ...from))
  assert.not.ok(isAnswered('GET /api/config', ...from, 'origin: https://a.ops.example'))
  assert.not.ok(isAnswered('GET /api/config', ...from, `origin: ${FRIEND}`, 'origin: https://a'))
  const { head } = ask('loopback', 'GET /api/config', ...from, `origin: ${FRIEND}`)
  assert.is(head.status, 403)
})

backend.run()

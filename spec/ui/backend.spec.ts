// The page as a backend: what it makes of a request, and what of an answer.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Attempt, Reply } from '../../lib/base/types.ts'
import { UiBackend } from '../../lib/ui/backend.ts'
import type { Hosts } from '../../lib/ui/backend.ts'
import { UiService } from '../../lib/ui/service.ts'
import { contentOf, exchangeOf, requestOf } from '../support/exchange-of.ts'
import { Readers } from '../support/ui-sources.ts'

const backend = suite('ui/backend')

function never(): never {
  throw new Error('the page does not fail')
}

/** `GET /path`, and fields. */
function ask(hosts: Hosts, line: string, ...fields: string[]): Reply {
  const readers = new Readers()
  const page = new UiBackend(() => new UiService(readers.sources), hosts)
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

backend('a question goes on with its query, and the answer has a length and a date', () => {
  const { head, body } = ask('any', 'GET /api/logs?after=3&x=%20')
  assert.is(head.status, 200)
  assert.is(head.get('content-type'), 'application/json')
  assert.is(head.get('content-length'), String(body.length))
  assert.ok(head.has('date'))
  const content = contentOf(ask('any', 'GET /api/logs?after=3&x=%20'))
  assert.is(content, '{"part":"logs","place":"listener","query":"after=3&x=+"}')
})

backend('what the browser has is compared, on however many lines it says so', () => {
  const tag = ask('any', 'GET /ui').head.get('etag')!
  const { head, body } = ask('any', 'GET /ui', 'if-none-match: "a"', `if-none-match: ${tag}`)
  assert.is(head.status, 304)
  assert.not(head.has('content-length'))
  assert.is(body.framing, 'none')
})

backend('a stream is open-ended', () => {
  const { head, body } = ask('any', 'GET /api/live?topics=runtime')
  assert.is(head.get('content-type'), 'text/event-stream')
  assert.is(body.framing, 'open')
  assert.is(body.length, -1)
})

backend('the root leads to the page, and whatever else comes is not there', () => {
  const { head } = ask('any', 'GET /?a')
  assert.is(head.status, 308)
  assert.is(head.get('location'), '/ui')
  for (const path of ['/config_dump', '/quitquitquit', '/ui/signed-in', '/api/playground']) {
    const reply = ask('any', `GET ${path}`)
    assert.is(reply.head.status, 404)
    assert.is(contentOf(reply), '{"error":"not found"}')
  }
})

backend('names of other machines are refused where they could be pointed here', () => {
  for (const path of ['/', '/ui', '/api/runtime', '/api/live?topics=runtime'])
    assert.is(ask('loopback', `GET ${path}`).head.status, 403, path)
})

backend.run()

// The example command for a trace: it sends a request that matches the expression, or there is none.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { matchingCurl } from '../../../lib/page/trace/trace-start.ts'

const ROOT = 'curl -i http://127.0.0.1:3000/'

const likely = suite('page/trace-start')

likely('any request will do without an expression', () => {
  assert.is(matchingCurl(ROOT, ' '), ROOT)
})

likely('method, path and headers are taken from the expression', () => {
  assert.is(
    matchingCurl(ROOT, 'request.method == "POST" && request.path == "/v1/chat"'),
    'curl -i -X POST http://127.0.0.1:3000/v1/chat',
  )
  assert.is(
    matchingCurl(ROOT, 'request.method == "GET" && request.path.startsWith("/v1")'),
    'curl -i http://127.0.0.1:3000/v1',
  )
  assert.is(
    matchingCurl('curl -i -k https://[::1]:3000/', 'request.headers["x-team"] == "blue"'),
    "curl -i -k -H 'x-team: blue' 'https://[::1]:3000/'",
  )
})

likely('values of an expression are quoted for the shell', () => {
  assert.is(
    matchingCurl(ROOT, String.raw`request.path == "/a b';\"$(id)"`),
    String.raw`curl -i 'http://127.0.0.1:3000/a%20b'\'';%22$(id)'`,
  )
})

likely('gives no command for an expression that it cannot read', () => {
  for (const expression of [
    'source.address == "127.0.0.1"',
    'request.path == "/a" || request.path == "/b"',
    'request.path != "/a"',
    'request.path == "/a" && size(request.headers) > 3',
    'request.path == "no path"',
    'request.path == "/a',
  ])
    assert.is(matchingCurl(ROOT, expression), null, expression)
})

likely.run()

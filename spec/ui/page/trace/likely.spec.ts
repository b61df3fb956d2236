// The command beside the wait for a request: it sends one that is waited for, or there is none.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { curlLike } from '../../../../lib/ui/page/trace/likely.ts'

const ROOT = 'curl -i http://127.0.0.1:3000/'

const likely = suite('likely request')

likely('any request will do without an expression', () => {
  assert.is(curlLike(ROOT, ' '), ROOT)
})

likely('method, path and headers are taken from the expression', () => {
  assert.is(
    curlLike(ROOT, 'request.method == "POST" && request.path == "/v1/chat"'),
    'curl -i -X POST http://127.0.0.1:3000/v1/chat',
  )
  assert.is(
    curlLike(ROOT, 'request.method == "GET" && request.path.startsWith("/v1")'),
    'curl -i http://127.0.0.1:3000/v1',
  )
  assert.is(
    curlLike('curl -i -k https://[::1]:3000/', 'request.headers["x-team"] == "blue"'),
    "curl -i -k -H 'x-team: blue' 'https://[::1]:3000/'",
  )
})

likely('what is in an expression stays one word of a shell', () => {
  assert.is(
    curlLike(ROOT, String.raw`request.path == "/a b';\"$(id)"`),
    String.raw`curl -i 'http://127.0.0.1:3000/a%20b'\'';%22$(id)'`,
  )
})

likely('promises nothing for what it does not understand', () => {
  for (const expression of [
    'source.address == "127.0.0.1"',
    'request.path == "/a" || request.path == "/b"',
    'request.path != "/a"',
    'request.path == "/a" && size(request.headers) > 3',
    'request.path == "no path"',
    'request.path == "/a',
  ])
    assert.is(curlLike(ROOT, expression), null, expression)
})

likely.run()

// The curl arguments that gwctl supports on a machine without curl.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { describeRequest } from '../../lib/ctl/curl-request.ts'
import { Folder } from '../support/folder.ts'

const URL = 'http://h.test:81/a?b=c'

function described(...args: string[]): [string, string | undefined, Record<string, string>] {
  const { method, headers, body } = describeRequest([URL, ...args])
  return [method, body?.toString(), Object.fromEntries(headers)]
}

const request = suite('request without curl')

request('sends a GET with the Host of the URL', () => {
  const { url, method, headers, body } = describeRequest([URL])
  assert.equal([url.href, method, headers.get('host'), body], [URL, 'GET', 'h.test:81', null])
})

request('sends data as a form with POST, several values joined', () => {
  const [method, body, headers] = described('-d', 'a=1', '--data-raw', '@b', '-dc=2')
  assert.equal([method, body], ['POST', 'a=1&@b&c=2'])
  assert.is(headers['content-type'], 'application/x-www-form-urlencoded')
  assert.is(headers['content-length'], '10')
})

request('reads data from a file, without line ends unless it is binary', () => {
  const folder = new Folder()
  const file = folder.write('body', 'one\r\ntwo\n')
  assert.is(described('-d', `@${file}`)[1], 'onetwo')
  assert.is(described('--data-binary', `@${file}`)[1], 'one\r\ntwo\n')
  folder.close()
})

request('sends and accepts JSON', () => {
  const [method, body, headers] = described('--json', '{"a":1}')
  assert.equal([method, body], ['POST', '{"a":1}'])
  assert.is(headers['content-type'], 'application/json')
  assert.is(headers['accept'], 'application/json')
})

request('sets, empties and removes headers', () => {
  const [, , headers] = described('-H', 'X-A: b: c', '-H', 'Accept:', '-HX-E;', '-H', 'host: other')
  assert.is(headers['x-a'], 'b: c')
  assert.is(headers['accept'], undefined)
  assert.is(headers['x-e'], '')
  assert.is(headers['host'], 'other')
})

request('sets method, user and certificate check', () => {
  assert.is(described('-XDELETE')[0], 'DELETE')
  assert.is(described('--request', 'PATCH', '-d', 'x')[0], 'PATCH')
  assert.is(described('-u', 'a:b')[2]['authorization'], 'Basic YTpi')
  assert.is(describeRequest([URL, '-k']).certificate, 'ignore')
})

request('refuses arguments that it does not support', () => {
  assert.throws(() => described('--form', 'a=b'), 'gwctl itself does not support --form')
  assert.throws(() => described('-F', 'a=b'), 'gwctl itself does not support -F')
  assert.throws(() => described('-X'), '-X needs a value')
  assert.throws(() => described('-H', 'nonsense'), 'invalid header nonsense')
})

request.run()

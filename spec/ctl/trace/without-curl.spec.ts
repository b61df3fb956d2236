// The arguments of curl that gwctl understands where there is no curl.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { describe } from '../../../lib/ctl/trace/without-curl.ts'
import { Folder } from '../../support/folder.ts'

const URL = 'http://h.test:81/a?b=c'

function told(...args: string[]): [string, string | undefined, Record<string, string>] {
  const { method, headers, body } = describe([URL, ...args])
  return [method, body?.toString(), Object.fromEntries(headers)]
}

const without = suite('without curl')

without('a URL alone is a GET with the Host it names', () => {
  const { url, method, headers, body } = describe([URL])
  assert.equal([url.href, method, headers.get('host'), body], [URL, 'GET', 'h.test:81', null])
})

without('data makes it a POST of a form, several are joined', () => {
  const [method, body, headers] = told('-d', 'a=1', '--data-raw', '@b', '-dc=2')
  assert.equal([method, body], ['POST', 'a=1&@b&c=2'])
  assert.is(headers['content-type'], 'application/x-www-form-urlencoded')
  assert.is(headers['content-length'], '10')
})

without('data comes from a file, without line ends unless it is binary', () => {
  const folder = new Folder()
  const file = folder.write('body', 'one\r\ntwo\n')
  assert.is(told('-d', `@${file}`)[1], 'onetwo')
  assert.is(told('--data-binary', `@${file}`)[1], 'one\r\ntwo\n')
  folder.close()
})

without('JSON is sent and asked for', () => {
  const [method, body, headers] = told('--json', '{"a":1}')
  assert.equal([method, body], ['POST', '{"a":1}'])
  assert.is(headers['content-type'], 'application/json')
  assert.is(headers['accept'], 'application/json')
})

without('headers are set, emptied and taken away', () => {
  const [, , headers] = told('-H', 'X-A: b: c', '-H', 'Accept:', '-HX-E;', '-H', 'host: other')
  assert.is(headers['x-a'], 'b: c')
  assert.is(headers['accept'], undefined)
  assert.is(headers['x-e'], '')
  assert.is(headers['host'], 'other')
})

without('method, user and certificates', () => {
  assert.is(told('-XDELETE')[0], 'DELETE')
  assert.is(told('--request', 'PATCH', '-d', 'x')[0], 'PATCH')
  assert.is(told('-u', 'a:b')[2]['authorization'], 'Basic YTpi')
  assert.is(describe([URL, '-k']).certificate, 'any')
})

without('what it does not know is refused by name', () => {
  assert.throws(() => told('--form', 'a=b'), 'gwctl does not know --form itself')
  assert.throws(() => told('-F', 'a=b'), 'gwctl does not know -F itself')
  assert.throws(() => told('-X'), '-X needs a value')
  assert.throws(() => told('-H', 'nonsense'), 'invalid header nonsense')
})

without.run()

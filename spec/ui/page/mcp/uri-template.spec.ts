// URI templates of resources.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { filled, holesOf } from '../../../../lib/ui/page/mcp/uri-template.ts'

const template = suite('ui/page/uri-template')

template('finds each name once', () => {
  assert.equal(holesOf('a://{one}/{two}/{one}'), ['one', 'two'])
  assert.equal(holesOf('a://x{?q,n*}{/path:3}{+rest}'), ['q', 'n', 'path', 'rest'])
  assert.equal(holesOf('a://{}/{'), [])
})

template('fills in what is given, in the way each form wants it', () => {
  const values = { id: 'a b/c', q: 'x&y', n: '1', path: '/etc/hosts' }
  assert.is(filled('t://{id}', values), 't://a%20b%2Fc')
  assert.is(filled('f://{+path}', values), 'f:///etc/hosts')
  assert.is(filled('t://x{?q,n}', values), 't://x?q=x%26y&n=1')
  assert.is(filled('t://x{?q,missing}', values), 't://x?q=x%26y')
  assert.is(filled('t://x{?missing}', values), 't://x')
  assert.is(filled('t://x{/n}{.n}{;n}{#n}{&n}', values), 't://x/1.1;n=1#1&n=1')
  assert.is(filled('t://{n,q}', values), 't://1,x%26y')
})

template.run()

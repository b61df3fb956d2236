// URI templates of resources.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { expandTemplate, variablesOf } from '../../../lib/page/mcp/form-model.ts'

const template = suite('page/form-model-templates')

template('finds each name once', () => {
  assert.equal(variablesOf('a://{one}/{two}/{one}'), ['one', 'two'])
  assert.equal(variablesOf('a://x{?q,n*}{/path:3}{+rest}'), ['q', 'n', 'path', 'rest'])
  assert.equal(variablesOf('a://{}/{'), [])
})

template('expands variables, as each operator asks', () => {
  const values = { id: 'a b/c', q: 'x&y', n: '1', path: '/etc/hosts' }
  assert.is(expandTemplate('t://{id}', values), 't://a%20b%2Fc')
  assert.is(expandTemplate('f://{+path}', values), 'f:///etc/hosts')
  assert.is(expandTemplate('t://x{?q,n}', values), 't://x?q=x%26y&n=1')
  assert.is(expandTemplate('t://x{?q,missing}', values), 't://x?q=x%26y')
  assert.is(expandTemplate('t://x{?missing}', values), 't://x')
  assert.is(expandTemplate('t://x{/n}{.n}{;n}{#n}{&n}', values), 't://x/1.1;n=1#1&n=1')
  assert.is(expandTemplate('t://{n,q}', values), 't://1,x%26y')
})

template.run()

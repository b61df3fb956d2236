// Models in paths and queries: where they are found, and where servers could read another one.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findModelInPath, findModelInQuery } from '../../../lib/forward/llm/model-position.ts'
import type { ModelNaming } from '../../../lib/forward/llm/model-position.ts'

const places = suite('forward/llm: places of models')

function read(naming: ModelNaming): string | null {
  return naming === null || naming === 'unclear' ? naming : naming.model
}

const inPath = (path: string): ModelNaming => findModelInPath({ path, query: 'a=1' })

places('are in the paths of Gemini, Azure and Bedrock', () => {
  const table: [path: string, model: string, other: string][] = [
    ['/v1beta/models/g-2.5:generateContent', 'g-2.5', '/v1beta/models/x%2Fy:generateContent'],
    ['/v1/models/g%2D1%3AstreamGenerateContent', 'g-1', '/v1/models/x%2Fy%3AstreamGenerateContent'],
    ['/p/publishers/a/models/m:rawPredict', 'm', '/p/publishers/a/models/x%2Fy:rawPredict'],
    ['/openai/deployments/d/chat/completions', 'd', '/openai/deployments/x%2Fy/chat/completions'],
    ['/model/a.b-v1%3A0/converse-stream', 'a.b-v1:0', '/model/x%2Fy/converse-stream'],
    ['/model/arn%3Aaws%3Ax%2Fy/invoke', 'arn:aws:x/y', '/model/x%2Fy/invoke'],
  ]
  for (const [path, model, other] of table) {
    const naming = inPath(path)
    assert.is(read(naming), model, path)
    if (naming === null || naming === 'unclear') continue
    assert.equal(naming.withModel('x/y'), { path: other, query: 'a=1' })
  }
})

places('are not found in paths that only look similar', () => {
  for (const path of ['/v1/chat/completions', '/v1/models', '/v1/models/g', '/model/m', '/'])
    assert.is(inPath(path), null, path)
  assert.is(findModelInPath({ path: '/apps/deployments/web/scale', query: '' }, 'sure'), null)
  assert.is(read(findModelInPath({ path: '/model/m/converse', query: '' }, 'sure')), 'm')
})

places('are unclear where servers could read another model', () => {
  for (const path of [
    '/models/cheap:generateContent/../dear:generateContent',
    '/models/cheap%2F..%2Fdear:generateContent',
    '/models/cheap;x=/models/dear:generateContent',
    '/models/dear:generate%43ontent',
    '/models/dear%00cheap:generateContent',
    '/models/dear%253Acheap:generateContent',
    '/tunedModels/own:generateContent',
    '/deployments/cheap/deployments/dear/chat/completions',
    '/deployments/cheap/models/dear:generateContent',
    '/Model/cheap/./converse',
    '//model/cheap/converse',
    '/model/%ff/converse',
  ])
    assert.is(inPath(path), 'unclear', path)
})

places('are in the queries of realtime', () => {
  const inQuery = (query: string): ModelNaming => findModelInQuery({ path: '/v1/realtime', query })
  assert.is(read(inQuery('a=1&model=m%2E1')), 'm.1')
  assert.is(read(inQuery('api-version=1&deployment=d')), 'd')
  assert.is(read(inQuery('%6Dodel=m')), 'm')
  const naming = inQuery('a=%20&model=m&b=+')
  assert.ok(naming !== null && naming !== 'unclear')
  assert.equal(naming.withModel('x y'), { path: '/v1/realtime', query: 'a=%20&model=x%20y&b=+' })
  for (const query of ['', 'a=model', 'models=m']) assert.is(inQuery(query), null, query)
  for (const query of ['model=a&model=b', 'model=a&Model=a', 'model=', 'model=a;model=b'])
    assert.is(inQuery(query), 'unclear', query)
})

places.run()

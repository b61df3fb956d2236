// Which lines of the log are shown.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LogLine } from '../../../lib/admin/page-api/page-api-types.ts'
import { matchesFilter } from '../../../lib/page/logs/logs-page.ts'
import type { LogFilter } from '../../../lib/page/logs/logs-page.ts'

const filter = suite('page/logs-page')

const LINE: LogLine = {
  number: 1,
  at: 0,
  level: 'warn',
  module: 'mcp',
  message: 'target down',
  fields: [
    ['target', 'demo'],
    ['code', 3],
  ],
}

function isShown(wanted: Partial<LogFilter>): boolean {
  return matchesFilter({ text: '', level: '', module: '', ...wanted })(LINE)
}

filter('lets everything through that nothing is said about', () => {
  assert.ok(isShown({}))
})

filter('takes a level for the least that is bad enough', () => {
  assert.not(isShown({ level: 'error' }))
  for (const level of ['warn', 'info', 'trace']) assert.ok(isShown({ level }))
})

filter('knows modules by their whole name', () => {
  assert.ok(isShown({ module: 'mcp' }))
  assert.not(isShown({ module: 'mc' }))
})

filter('finds every word anywhere, in any case', () => {
  for (const text of ['DOWN', 'down target', 'code=3', 'target=demo down', ' '])
    assert.ok(isShown({ text }), text)
  for (const text of ['up', 'down up', 'code=4']) assert.not(isShown({ text }), text)
})

filter.run()

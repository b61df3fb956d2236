// A gateway without limits and MCP servers in a browser: what the empty pages say, and addresses without a page.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const ROUTES = `
  - name: hello
    policies: { directResponse: { status: 200, body: hello } }
`

const empty = judgeOf('ui: empty pages', () => Shop.start({ routes: ROUTES }))

/** How far the first character of each line is from the left edge, in pixels from the leftmost. */
const INDENTS = `(() => {
  const text = document.querySelector('pre.example').firstChild
  const lefts = []
  let at = 0
  for (const line of text.data.split('\\n')) {
    const range = document.createRange()
    const start = at + line.search(/\\S/)
    range.setStart(text, start)
    range.setEnd(text, start + 1)
    lefts.push(Math.round(range.getBoundingClientRect().left))
    at += line.length + 1
  }
  return lefts.map((left) => left - Math.min(...lefts))
})()`

empty('the example of an MCP server keeps the indentation of YAML', async ({ visit }) => {
  await visit.open('mcp')
  await visit.sees('.empty', 'No MCP servers are configured')
  const indents = await visit.asks<number[]>(INDENTS)
  assert.is(indents.length, 4)
  assert.ok(
    indents.every((indent, at) => at === 0 || indent > indents[at - 1]!),
    indents.join(),
  )
})

empty('the example of a limit does what its text says', async ({ visit }) => {
  await visit.open('limits')
  await visit.sees('.empty', 'this gives each client address 100 requests a minute')
  await visit.sees('.empty pre', 'requests: 100, unit: Minutes, key: source.address')
  await visit.sees('.empty', 'Without key, all clients share the limit.')
  await assertPresentable(visit)
})

empty('an address without a page says so, and shows no other page', async ({ visit }) => {
  await visit.open('nope')
  await visit.sees('main h1', 'Page not found')
  await visit.sees('main', 'There is no page at this address.')
  assert.is(await visit.page.locator('nav [aria-current]').count(), 0)
  await visit.page.locator('main a').click()
  await visit.sees('main h1', 'Overview')
  assert.is(await visit.asks('document.title'), 'Overview · gateway')
})

empty.run()

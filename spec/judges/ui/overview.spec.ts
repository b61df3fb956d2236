// The overview in a browser: numbers match the traffic, each refusal is explained, and links lead from there to
// its trace.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const overview = judgeOf('ui: overview', () => Shop.start())

overview('shows how to send the first request', async ({ world, visit }) => {
  await visit.open()
  await visit.sees('.recent', 'No requests yet.')
  await visit.sees('.recent', `curl -i http://127.0.0.1:${world.port}/`)
  await visit.sees('.facts', 'ready')
  await visit.sees('.status', 'live')
})

/** By path: the requests to send, and the expected statuses. */
const SENT = [
  ['/hello', [200, 200, 200]],
  ['/team/plans', [403]],
  ['/nowhere', [404]],
  ['/few', [200, 200, 429]],
  ['/down', [503]],
] as const

async function send(world: Shop): Promise<void> {
  for (const [path, statuses] of SENT)
    for (const status of statuses) assert.is(await world.send(path), status, path)
  assert.is(await world.chat('red', 'How many words are these?'), 200)
}

let isSent = false
async function sentOnce(world: Shop): Promise<void> {
  if (!isSent) await send(world)
  isSent = true
}

overview('numbers match the traffic that was sent', async ({ world, visit }) => {
  await sentOnce(world)
  await visit.open()
  await visit.sees('.tile', /Requests per second\s+10 in 5 min/)
  await visit.sees('.tile', /Errors and refused\s+1 failed, 3 refused/)
  const row = visit.page.locator('.routes tr')
  await visit.sees(row, /^hello\s+3\s+0\s+0/)
  await visit.sees(row, /^few\s+3\s+1\s+0/)
  await visit.sees(row, /^team\s+1\s+1\s+0/)
  await visit.sees(row, /^down\s+1\s+0\s+1/)
  await visit.sees(row, /^chat\s+1\s+0\s+0/)
  await visit.sees(row, /^no route \(default\)\s+1\s+1\s+0/)
})

overview('shows for each request what happened, in words', async ({ world, visit }) => {
  await sentOnce(world)
  await visit.open()
  const row = visit.page.locator('.requests tbody tr')
  for (const text of [
    /200\s+GET\s+\/hello\s+hello/,
    /403\s+GET\s+\/team\/plans\s+team\s+The rule authorization\.rules\[0\] denied the request\./,
    /404\s+GET\s+\/nowhere\s+No route matches this request\./,
    /429\s+GET\s+\/few\s+few\s+A rate limit is exhausted\./,
    /503\s+GET\s+\/down\s+down\s+The backend cannot be reached/,
    /200\s+POST\s+\/v1\/chat\/completions\s+chat\s+small, \d+ tokens in, \d+ out/,
  ])
    await visit.sees(row, text)
})

overview('refused and failed requests can be listed separately', async ({ world, visit }) => {
  await sentOnce(world)
  await visit.open()
  const choice = visit.page.getByRole('button', { name: 'Refused or failed' })
  await visit.tabTo(choice)
  await visit.press('Enter')
  await visit.sees('.recent', 'the latest 4')
  const rows = await visit.page.locator('.requests td.status-cell').allInnerTexts()
  assert.equal(rows.toSorted(), ['403', '404', '429', '503'])
})

overview('a new request appears live', async ({ world, visit }) => {
  await visit.open()
  await visit.sees('.status', 'live')
  assert.is(await world.send('/team/now'), 403)
  await visit.sees('.requests tbody tr', /403\s+GET\s+\/team\/now/)
})

overview('a row opens by keyboard, explains what to do, and links to a trace', async (seat) => {
  const { world, visit } = seat
  await sentOnce(world)
  await visit.open()
  const row = visit.page.locator('.requests tr.request', { hasText: '/team/plans' })
  await row.waitFor()
  await visit.tabTo(row.getByRole('button'))
  await visit.press('Enter')
  await visit.sees('.detail', 'A trace shows every rule with its result')
  await visit.sees('.detail', 'Policy: authorization.rules[0]')
  await visit.sees('.detail', 'gateway/default/default/team')
  await visit.tabTo(visit.page.getByRole('link', { name: 'Trace the next request like this' }))
  await visit.press('Enter')
  await visit.sees('main h1', 'Live trace')
  const field = visit.page.getByRole('textbox')
  assert.is(await field.inputValue(), 'request.method == "GET" && request.path == "/team/plans"')
})

overview('is accessible in light and dark, and fits a phone', async ({ world, visit }) => {
  await sentOnce(world)
  await visit.open()
  const row = visit.page.locator('.requests tr.request', { hasText: '/few' }).first()
  await row.getByRole('button').click()
  await visit.sees('.detail', 'Policy: rateLimit')
  await assertPresentable(visit)
})

overview(
  'a lost connection is reported, and the data stays until the gateway is back',
  async (seat) => {
    const { world, visit } = seat
    visit.expect(
      /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/,
    )
    assert.is(await world.send('/hello'), 200)
    await visit.open()
    await visit.sees('.requests tbody tr', '/hello')
    await world.stop()
    await visit.sees('.toast', 'Connection to the gateway lost.')
    await visit.sees('.status', 'offline')
    // The usual width of a small laptop, where the message took the place of the menu.
    await visit.page.setViewportSize({ width: 1280, height: 720 })
    const menu = await visit.asks<[number, number]>(
      `(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('.top nav'))`,
    )
    assert.ok(menu[0] <= menu[1], `menu of ${menu[0]} px in ${menu[1]} px`)
    await visit.sees('.requests tbody tr', '/hello')
    await world.startAgain()
    await visit.page.locator('.toast').waitFor({ state: 'detached' })
    assert.is(await world.send('/team/again'), 403)
    await visit.sees('.requests tbody tr', /403\s+GET\s+\/team\/again/)
  },
)

overview.run()

// Limits in a browser: what each rule allows, what is left for which key, with live updates.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const limits = judgeOf('ui: limits', () => Shop.start())

limits('the remaining budget is updated live', async ({ world, visit }) => {
  await visit.open('limits')
  const card = visit.page.locator('.limit', { hasText: 'route/chat' })
  await visit.sees(card, /1,000 tokens per hour\s+enough left/)
  await visit.sees(card, 'for each request.headers["x-team"]')
  await visit.sees(card, '0 denied')
  assert.is(await world.chat('red', 'a few words '.repeat(50)), 200)
  await visit.sees(card, /\d+ of 1,000 left for red/)
  const { rules } = await world.fetchJson<{
    rules: { shown: { owner: string; tightest: unknown }[] }
  }>('/api/limits')
  const { tightest } = rules.shown.find(({ owner }) => owner === 'route/chat')!
  const [{ key, remaining }] = tightest as [{ key: string; remaining: number }]
  assert.is(key, 'red')
  await visit.sees(card, `${remaining} of 1,000 left`)
  assert.is(await world.chat('blue', 'one'), 200)
  await visit.sees(card, /Least left of 2 keys[^]*red[^]*blue/)
  await visit.sees(card, '2 allowed')
})

limits('an exhausted limit is first, and marked', async ({ world, visit }) => {
  for (const status of [200, 200, 429]) assert.is(await world.send('/few'), status)
  await visit.open('limits')
  const first = visit.page.locator('.limit').first()
  await visit.sees(first, /2 requests per hour\s+empty/)
  await visit.sees(first, 'route/few')
  await visit.sees(first, /2 allowed\s+1 denied/)
  await visit.sees('main', '1 empty')
})

limits('a search finds a limit by its route', async ({ visit }) => {
  await visit.open('limits')
  const field = visit.page.getByRole('searchbox', { name: 'Search' })
  await visit.tabTo(field)
  await visit.page.keyboard.type('few')
  await visit.sees('main', '1 found')
  assert.is(await visit.page.locator('.limit').count(), 1)
  await visit.follow('limits?find=route/chat')
  await visit.sees('.limit', 'route/chat')
})

limits('is accessible in light and dark, and fits a phone', async ({ visit }) => {
  await visit.open('limits')
  await visit.sees('.limit', 'route/chat')
  await assertPresentable(visit)
})

limits.run()

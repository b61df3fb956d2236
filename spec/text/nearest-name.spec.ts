// Suggestions for mistyped names.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { nearest } from '../../lib/text/nearest-name.ts'

const names = suite('nearest name')

names('finds the name with the fewest edits', () => {
  assert.is(nearest('trase', ['tasks', 'trace']), 'trace')
  assert.is(nearest('versoin', ['version', 'proxy']), 'version')
  assert.is(nearest('backend', ['backends', 'routes']), 'backends')
  assert.is(nearest('ROUTS', ['routes']), 'routes')
})

names('counts a swap of two letters as one edit', () => {
  assert.is(nearest('rwa', ['raw']), 'raw')
})

names('suggests nothing for a name that is too different', () => {
  assert.is(nearest('nothing', ['proxy', 'version']), undefined)
  assert.is(nearest('x', ['y']), undefined)
  assert.is(nearest('', ['y']), undefined)
})

names.run()

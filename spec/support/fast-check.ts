// fast-check with a fixed seed, so that every run has the same inputs. `npm run fuzz` uses random ones.

import fc from 'fast-check'

fc.configureGlobal({ seed: 1 })

export { fc }

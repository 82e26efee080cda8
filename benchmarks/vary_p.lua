-- Every request asks for another p, so that no cache of answers could help.
local at = 0
request = function()
  at = at + 1
  return wrk.format("GET", string.format("%s&p=0.%06d", wrk.path, 500000 + (at * 7919) % 500000))
end

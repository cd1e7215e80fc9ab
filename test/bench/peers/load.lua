-- What wrk calls, and what came of it as one line of JSON. Arguments: method, path, body, how many requests there are, and a text that
-- no run before had.
local thread = 0

function setup(each)
  each:set("thread", thread)
  thread = thread + 1
end

function init(arguments)
  local method, path, body, requests, run = unpack(arguments)
  wrk.method = method
  wrk.path = path
  wrk.headers["Accept"] = "application/json"
  if body ~= "" then
    wrk.body = body
    wrk.headers["Content-Type"] = "application/json"
  end
  -- Without a function wrk sends the same bytes again and again, which costs least.
  if not (path .. body):find("%$") then
    return
  end
  local calls = 0
  local function numbered(text)
    local own = run .. "-" .. thread .. "-" .. calls
    return (text:gsub("$m", tostring(calls % tonumber(requests))):gsub("$n", own))
  end
  request = function()
    calls = calls + 1
    return wrk.format(nil, numbered(path), nil, body ~= "" and numbered(body) or nil)
  end
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local told = '\n{"calls":%d,"seconds":%f,"p50":%f,"p99":%f,"failed":%d}\n'
  local seconds = summary.duration / 1e6
  io.write(told:format(summary.requests, seconds, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, failed))
end

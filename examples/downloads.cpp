// SPDX-License-Identifier: MIT
// weir in C++: 40 downloads on eight threads, at most three at once, with a budget
// of memory and a pool of two connections.  One download fails; the group rethrows
// its exception.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <weir/semaphore.hpp>

namespace {

weir::semaphore running(3);		// at most three at once
weir::semaphore memory(64 << 20);	// bytes
std::atomic<int> now_running{ 0 }, most{ 0 }, done{ 0 }, dialled{ 0 };

struct connection {
	connection() { dialled++; }
	void fetch(int number)
	{
		std::this_thread::sleep_for(std::chrono::microseconds(200));
		if (number == 17)
			throw std::runtime_error("file 17 does not exist");
	}
};

void download(weir::pool<connection> &connections, int number)
{
	// Everything is released on every path out of this function.
	weir::permit turn = running.hold();
	weir::permit bytes = memory.hold((number % 8 + 1) << 20);
	auto server = connections.borrow(nullptr, "download");
	int inside = ++now_running;

	if (inside > most)
		most = inside;
	try {
		server->fetch(number);
	} catch (...) {
		now_running--;
		throw;
	}
	now_running--;
	done++;
}

} // namespace

int main()
{
	weir::pool<connection> connections(
		2, [] { return std::make_unique<connection>(); });
	weir::group group(8);

	for (int i = 0; i < 40; i++)
		group.spawn([&, i] { download(connections, i); });
	try {
		group.wait();
	} catch (const std::runtime_error &e) {
		std::printf("failed: %s\n", e.what());
	}
	std::printf("%d of 40 done, %s three at once, %s connections\n",
		    done.load(), most <= 3 ? "at most" : "MORE THAN",
		    dialled <= 2 ? "two" : "MORE");
	std::printf("%lld permits and %lld MB are free\n",
		    static_cast<long long>(running.available()),
		    static_cast<long long>(memory.available() >> 20));
	return 0;
}
